import { createReadStream, createWriteStream } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { temporaryFolder } from '../../test/servers/folders.ts'
import { TOKEN } from '../contenders/apis.ts'
import { CONTENDERS, DATABASE, HAND_WRITTEN } from '../contenders/contenders.ts'
import type { Contender, Running, Stage } from '../contenders/contender.ts'
import { serviceContender } from '../contenders/service.ts'
import { COLUMNS, createOrders, fillOrders } from '../database/orders.ts'
import type { BenchDatabase } from '../database/start.ts'
import { cpuSeconds, memory, resetPeak } from '../measure/process.ts'
import { median } from '../measure/statistics.ts'
import type { GrowthResult } from '../report/results.ts'

const ROWS = 500_000

interface Import { readonly cpu: number, readonly seconds: number, readonly peak: number }

/**
 * Imports of one file of CSV in one transaction, one after the other: by this service, and by a hand-written route with
 * csv-parse and inserts of 1000 rows, in turns. The service also writes it in batches.
 */
export async function measureImports ({ connection }: BenchDatabase, stage: Stage, rounds: number): Promise<GrowthResult> {
  await connection.query(createOrders('imported'))
  const hand = CONTENDERS.find(({ name }) => name === HAND_WRITTEN[1]) as Contender
  const [service, route] = [await serviceContender(DATABASE).start(stage), await hand.start(stage)]
  const folder = temporaryFolder(join(tmpdir(), 'row-query-bench'))
  const file = join(folder.path, 'orders.csv')
  await writeFile(connection, service, file)
  const load = async (running: Running, path: string): Promise<Import> => {
    await connection.query('truncate table imported')
    const figures = await importInto(running, path, file)
    const [[{ n }]] = await connection.query('select count(*) as n from imported') as unknown as [[{ n: number }]]
    if (n !== ROWS) throw new Error(`an import has written ${n} rows`)
    return figures
  }
  const toService = `/api/${DATABASE}/imported`
  const seen: Record<'service' | 'batches' | 'route', Import[]> = { service: [], batches: [], route: [] }
  for (let round = 0; round <= rounds; round++) {
    const own = await load(service, toService)
    const other = await load(route, '/orders/import')
    // the first round warms up
    if (round === 0) continue
    seen.service.push(own)
    seen.route.push(other)
    seen.batches.push(await load(service, `${toService}?transaction=batch`))
  }
  await Promise.all([service.stop(), route.stop()])
  await connection.query('drop table imported')
  folder.remove()
  const ratioOf = (imports: readonly Import[]): number => median(imports.map(({ cpu }, round) => cpu / (seen.route[round] as Import).cpu))
  return {
    title: 'Imports',
    columns: ['', 'CPU s', 's', 'peak MB', 'CPU ratio'],
    rows: [
      rowOf('this service', seen.service, ratioOf(seen.service)),
      rowOf('this service, in batches', seen.batches, ratioOf(seen.batches)),
      rowOf('hand-written', seen.route, 1)
    ],
    summary: `Imports of ${ROWS.toLocaleString('en')} rows of CSV take ${ratioOf(seen.service).toFixed(2)} of the CPU time of the hand-written route.`
  }
}

/** The file is an export of this service. */
async function writeFile (connection: BenchDatabase['connection'], { port }: Running, file: string): Promise<void> {
  await connection.query(fillOrders('imported', 1, ROWS))
  const response = await fetch(`http://127.0.0.1:${port}/api/${DATABASE}/imported`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', accept: 'text/csv' },
    body: JSON.stringify({ verb: 'select', columns: COLUMNS, orderBy: 'id', limit: ROWS })
  })
  if (!response.ok) throw new Error(`an export was answered with ${response.status} ${await response.text()}`)
  await pipeline(Readable.fromWeb(response.body as never), createWriteStream(file))
}

async function importInto ({ pid, port }: Running, path: string, file: string): Promise<Import> {
  resetPeak(pid)
  const before = cpuSeconds(pid)
  const begin = performance.now()
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'text/csv' },
    body: createReadStream(file),
    duplex: 'half'
  } as unknown as RequestInit)
  const text = await response.text()
  if (!response.ok) throw new Error(`an import was answered with ${response.status} ${text}`)
  return { cpu: cpuSeconds(pid) - before, seconds: (performance.now() - begin) / 1000, peak: memory(pid, 'VmHWM') }
}

function rowOf (name: string, seen: readonly Import[], ratio: number): string[] {
  const middle = (read: (each: Import) => number): number => median(seen.map(read))
  return [name, middle(({ cpu }) => cpu).toFixed(2), middle(({ seconds }) => seconds).toFixed(2), middle(({ peak }) => peak).toFixed(0), ratio.toFixed(2)]
}
