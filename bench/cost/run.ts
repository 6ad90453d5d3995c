/**
 * `npm run cost`: counts what requests cost and compares it with bench/costs.json. Fails if one costs more.
 *
 *     node bench/cost/run.ts [--write | --against FOLDER]
 *
 * `--write`: writes the file and the table of docs/benchmarks.md; a request that is not steady keeps its line. `--against`: compares with another checkout instead, which needs its `node_modules`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { obtain } from '../../test/servers/obtain.ts'
import type { Server } from '../../test/servers/answer.ts'
import { writeSection } from '../report/sections.ts'
import { type Costs, costSection, costTable, findExcesses, renewLines } from './costs.ts'
import { measure } from './measure.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FILE = new URL('../costs.json', import.meta.url)
const DOCUMENT = new URL('../../docs/benchmarks.md', import.meta.url)

/** A request whose calls differ more between two series has no place in the file. */
const STEADY = 0.005

/** `10.11.14` -> `10.11` */
const seriesOf = (version: string): string => version.split('.').slice(0, 2).join('.')

async function obtainMariadb (): Promise<Server | string> {
  try {
    return await obtain([{ kind: 'mariadb' }])
  } catch (error) {
    return (error as Error).message
  }
}

async function cost (options: { write: boolean, against: string | undefined }): Promise<void> {
  const kept = JSON.parse(readFileSync(FILE, 'utf8')) as Costs
  const server = await obtainMariadb()
  if (typeof server === 'string') return console.log(`# skipped: there is no MariaDB ${kept.mariadb}: ${server}`)
  const here = { node: process.versions.node, mariadb: seriesOf(server.engine.version) }
  const isComparable = here.node === kept.node && here.mariadb === kept.mariadb
  if (!isComparable && !options.write && options.against === undefined) {
    return console.log(`# skipped: bench/costs.json is of Node ${kept.node} and MariaDB ${kept.mariadb}, here are ${here.node} and ${here.mariadb}`)
  }
  const measured = await measure(server.engine.url, ROOT)
  const unsteady = [...measured].filter(([, { unsteady }]) => unsteady >= STEADY).map(([name]) => name)
  for (const name of unsteady) console.log(`# not steady, so it is not compared: ${name}`)
  const requests = Object.fromEntries([...measured].filter(([name]) => !unsteady.includes(name)).map(([name, { unsteady, ...figures }]) => [name, figures]))
  if (options.against !== undefined) {
    const other = Object.fromEntries(await measure(server.engine.url, resolve(options.against)))
    return console.log(costTable(requests, other))
  }
  console.log(costTable(requests, isComparable ? kept.requests : {}))
  if (options.write) {
    const before = isComparable ? kept.requests : {}
    for (const name of unsteady) {
      console.log(name in before ? `# keeps the line that it has: ${name}` : `# HAS NO LINE, measure again: ${name}`)
    }
    const costs = { ...here, requests: renewLines([...measured.keys()], before, requests) }
    writeFileSync(FILE, JSON.stringify(costs, null, 2) + '\n')
    return writeSection(DOCUMENT, costSection(costs), 'costs')
  }
  const excesses = findExcesses(kept.requests, requests)
  for (const excess of excesses) console.log(`# COSTS MORE: ${excess}`)
  if (excesses.length === 0) return
  console.log('# if it is worth that: npm run cost -- --write, and name the reason in the commit')
  process.exitCode = 1
}

// the service and the server end when this process exits, in any way
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1))
try {
  const { values: { write, against } } = parseArgs({ options: { write: { type: 'boolean', default: false }, against: { type: 'string' } } })
  await cost({ write, against })
  process.exit()
} catch (error) {
  console.error(`npm run cost: ${(error as Error).message}`)
  process.exit(1)
}
