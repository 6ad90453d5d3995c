import { join } from 'node:path'
import { unpackedPackage } from '../../test/servers/packages.ts'
import { libraryFolders } from '../../test/servers/program.ts'
import { run, works } from '../../test/servers/shell.ts'
import { CONTENDERS, DATABASE, HAND_WRITTEN } from '../contenders/contenders.ts'
import { TOKEN } from '../contenders/apis.ts'
import type { Contender, Running, Stage } from '../contenders/contender.ts'
import { serviceContender } from '../contenders/service.ts'
import { createOrders, fillOrders } from '../database/orders.ts'
import type { BenchDatabase } from '../database/start.ts'
import { cpuSeconds, memory, resetPeak } from '../measure/process.ts'
import { median } from '../measure/statistics.ts'
import type { GrowthResult } from '../report/results.ts'

/** Media types of exports, by what the hand-written route calls them. */
const FORMATS = { ndjson: 'application/x-ndjson', csv: 'text/csv' } as const
type Format = keyof typeof FORMATS

const ROWS = 100_000
const MANY = 1_000_000

interface Export { readonly cpu: number, readonly seconds: number, readonly megabytes: number, readonly peak: number }

/** Exports of rows one after the other: of this service, and of a hand-written route with mysql2's stream and a Transform, in turns. */
export async function measureExports ({ connection, url }: BenchDatabase, stage: Stage, rounds: number): Promise<GrowthResult> {
  await connection.query(createOrders('exported'))
  await connection.query(fillOrders('exported', 1, MANY))
  await connection.query('analyze table exported')
  const hand = CONTENDERS.find(({ name }) => name === HAND_WRITTEN[1]) as Contender
  const [service, route] = [await serviceContender(DATABASE).start(stage), await hand.start(stage)]
  const rows: string[][] = []
  const ratios: string[] = []
  for (const format of Object.keys(FORMATS) as Format[]) {
    const seen: Record<'service' | 'route', Export[]> = { service: [], route: [] }
    for (let round = 0; round <= rounds; round++) {
      const [own, other] = [await exportFrom(service, toService(format, ROWS)), await exportFrom(route, toRoute(format, ROWS))]
      // the first round warms up
      if (round === 0) continue
      seen.service.push(own)
      seen.route.push(other)
    }
    const ratio = median(seen.service.map(({ cpu }, round) => cpu / (seen.route[round] as Export).cpu))
    ratios.push(`${ratio.toFixed(2)} of the CPU time of the hand-written route as ${format}`)
    const many = await exportFrom(service, toService(format, MANY))
    rows.push(rowOf(`this service, ${format}`, ROWS, seen.service, ratio), rowOf(`hand-written, ${format}`, ROWS, seen.route, 1), rowOf(`this service, ${format}`, MANY, [many]))
  }
  await Promise.all([service.stop(), route.stop()])
  const client = await findClient()
  for (const count of [ROWS, MANY]) rows.push(['the client of MariaDB, --batch', count.toLocaleString('en'), '', (await readWithClient(client, url, count)).toFixed(2), '', '', ''])
  await connection.query('drop table exported')
  return {
    title: 'Exports',
    columns: ['', 'rows', 'CPU s', 's', 'MB', 'peak MB', 'CPU ratio'],
    rows,
    summary: `Exports of ${ROWS.toLocaleString('en')} rows take ${ratios.join(' and ')}.`
  }
}

interface BatchClient { readonly file: string, readonly env: Record<string, string> }

/** The command-line client of MariaDB: that of the system, or of its package. */
async function findClient (): Promise<BatchClient> {
  if (works(['mariadb', '--version'])) return { file: 'mariadb', env: {} }
  const root = await unpackedPackage('mariadb-client-core')
  return { file: join(root, 'usr/bin/mariadb'), env: { LD_LIBRARY_PATH: libraryFolders(root).join(':') } }
}

/** Returns the seconds in which the client reads the rows and writes them to nowhere. */
async function readWithClient ({ file, env }: BatchClient, url: string, limit: number): Promise<number> {
  const { hostname, port, username } = new URL(url)
  const begin = performance.now()
  await run(['sh', '-c', '"$0" "$@" > /dev/null', file, '--no-defaults', '--batch', '--quick', `--host=${hostname}`, `--port=${port}`, `--user=${username}`, `--execute=select * from ${DATABASE}.exported order by id limit ${limit}`], { env })
  return (performance.now() - begin) / 1000
}

const toService = (format: Format, limit: number) => ({ path: `/api/${DATABASE}/exported`, accept: FORMATS[format], body: { verb: 'select', orderBy: 'id', limit } })
const toRoute = (format: Format, limit: number) => ({ path: '/orders/export', accept: FORMATS[format], body: { format, limit } })

async function exportFrom ({ pid, port }: Running, { path, accept, body }: ReturnType<typeof toService> | ReturnType<typeof toRoute>): Promise<Export> {
  resetPeak(pid)
  const before = cpuSeconds(pid)
  const begin = performance.now()
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', accept }, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`an export was answered with ${response.status} ${await response.text()}`)
  let bytes = 0
  for await (const chunk of response.body as ReadableStream<Uint8Array>) bytes += chunk.length
  return { cpu: cpuSeconds(pid) - before, seconds: (performance.now() - begin) / 1000, megabytes: bytes / 1_048_576, peak: memory(pid, 'VmHWM') }
}

function rowOf (name: string, rows: number, seen: readonly Export[], ratio?: number): string[] {
  const middle = (read: (each: Export) => number): number => median(seen.map(read))
  return [name, rows.toLocaleString('en'), middle(({ cpu }) => cpu).toFixed(2), middle(({ seconds }) => seconds).toFixed(2), middle(({ megabytes }) => megabytes).toFixed(1), middle(({ peak }) => peak).toFixed(0), ratio?.toFixed(2) ?? '']
}
