/**
 * `npm run bench`: starts a database and all contenders, measures them in turns, prints the tables, and writes them with
 * a chart into the documents. Requires Linux, because CPU time and memory come from /proc.
 */
import { build } from './build.ts'
import { checkContender } from './contenders/check.ts'
import { BARE, CONTENDERS, DATABASE, HAND_WRITTEN, MAIN } from './contenders/contenders.ts'
import type { Stage } from './contenders/contender.ts'
import { otherContender, OTHER, SERVICE } from './contenders/service.ts'
import { createShop, startDatabase, type BenchDatabase } from './database/start.ts'
import { installDependencies } from './dependencies.ts'
import { growCatalog } from './growth/catalog-size.ts'
import { growConnections } from './growth/connections.ts'
import { measureExports } from './growth/exports.ts'
import { measureGrants } from './growth/grants.ts'
import { measureImports } from './growth/imports.ts'
import { measureKeys } from './growth/keys.ts'
import { measureLogging } from './growth/logging.ts'
import { growTable } from './growth/table-size.ts'
import { growWorkers } from './growth/workers.ts'
import { startGenerator } from './load/generator.ts'
import { CONNECTIONS, measureInTurns, type Entry } from './measure/rounds.ts'
import { letRunOn } from './measure/scheduling.ts'
import { summarize, summarizeCold } from './measure/summary.ts'
import { HELP, isWanted, readOptions, type Options } from './options.ts'
import { table, toReport, workloadTable } from './report/markdown.ts'
import type { GrowthResult, WorkloadResult } from './report/results.ts'
import { createStamp } from './report/stamp.ts'
import { writeDocuments, writeResults } from './report/write.ts'
import { TABLE_SIZE, WORKLOADS } from './workloads.ts'

async function bench (options: Options): Promise<void> {
  await installDependencies()
  await build()
  letRunOn()
  const database = await startDatabase()
  const stamp = createStamp(database, describe(options))
  const stage: Stage = { databaseUrl: await createShop(database, DATABASE), generator: startGenerator() }

  const workloads = await measureWorkloads(options, database, stage)
  reportFailures(workloads)
  const partial = options.workloads !== undefined || options.contenders !== undefined || options.against !== undefined
  if (partial) {
    const transfers = []
    for (const [name, measure] of [['exports', measureExports], ['imports', measureImports]] as const) {
      if (options.workloads !== undefined && isWanted(name, options.workloads)) transfers.push(await measure(database, stage, options.rounds))
    }
    return console.log(['', workloadTable(workloads), ...transfers.map(({ columns, rows }) => table(columns, rows))].join('\n'))
  }

  const growth = await measureGrowth(options, database, stage)
  const results = { stamp, workloads, growth }
  writeResults(new URL(options.quick ? 'results/quick/' : 'results/', import.meta.url), results)
  if (!options.quick) writeDocuments(results, SERVICE)
  console.log('\n' + toReport(results, '##'))
}

async function measureWorkloads (options: Options, { connection }: BenchDatabase, stage: Stage): Promise<WorkloadResult[]> {
  const results: WorkloadResult[] = []
  for (const workload of WORKLOADS.filter(({ name }) => isWanted(name, options.workloads))) {
    console.log(`# ${workload.name}`)
    await connection.query('truncate table new_orders')
    const all = options.against === undefined ? CONTENDERS : [otherContender(DATABASE, options.against), ...CONTENDERS]
    const contenders = all.filter(({ name, workloads }) => (name === OTHER || isWanted(name, options.contenders)) && workloads?.includes(workload.name) !== false)
    const entries = contenders.map((contender): Entry => ({
      name: contender.name, contender, stage, workload, check: (running) => checkContender(contender, running, workload, connection)
    }))
    const turns = await measureInTurns(entries, options, contenders.filter(({ name }) => name === OTHER || MAIN.includes(name)).length)
    const compared = turns.filter(({ name }) => name === OTHER || MAIN.includes(name))
    results.push({
      workload: workload.name,
      rows: summarize(turns, { baseline: HAND_WRITTEN, alternatives: { name: 'bare mysql2', of: BARE } }),
      cold: summarizeCold(compared, HAND_WRITTEN),
      turns
    })
  }
  return results
}

/** The start time by number of tables is always measured; the other growth measurements take longer. */
async function measureGrowth (options: Options, database: BenchDatabase, stage: Stage): Promise<GrowthResult[]> {
  console.log('# growth')
  if (options.quick) return [await growCatalog(database, stage, [10, 1000], 3)]
  const effort = { ...options, starts: 1, rounds: Math.min(options.rounds, 6) }
  return [
    await growCatalog(database, stage, [1, 10, 100, 1000, 2000], 7),
    await growTable(database, stage, [1000, 10_000, 100_000, 1_000_000], effort),
    await growConnections(stage, [1, 10, 50, 100, 200], effort),
    await growWorkers(stage, [1, 2], effort),
    await measureLogging(stage, effort),
    await measureExports(database, stage, effort.rounds),
    await measureImports(database, stage, effort.rounds),
    await measureGrants(stage, effort),
    await measureKeys(database, stage, effort)
  ]
}

function describe ({ starts, rounds, seconds }: Options): string {
  return `${rounds} rounds of ${seconds} s in ${starts} starts for each contender and workload, in turns; ${CONNECTIONS} clients, a pool of 10 connections, ${TABLE_SIZE.toLocaleString('en')} rows of 8 columns`
}

/** Results with failures are printed but not stored. */
function reportFailures (workloads: readonly WorkloadResult[]): void {
  for (const { workload, turns } of workloads) {
    for (const { name, turns: rounds } of turns) {
      rounds.forEach(({ bad, requests }, round) => {
        if (bad === 0) return
        console.log(`# FAILED: ${workload}, ${name}, round ${round + 1}: ${bad} answers of ${requests} were no success`)
        process.exitCode = 1
      })
    }
  }
}

// The database, the contenders and their folders are removed when this process exits, in any way.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1))
try {
  const options = readOptions(process.argv.slice(2))
  if (options === undefined) console.log(HELP)
  else await bench(options)
  process.exit()
} catch (error) {
  console.error(`npm run bench: ${(error as Error).message}`)
  process.exit(1)
}
