/**
 * `npm run bench`: starts a database and everybody who takes part, measures them in turns, prints the table and writes it with a
 * chart to bench/results. Needs Linux, because CPU time and memory come from /proc.
 */
import { build } from './build.ts'
import { checkContender } from './contenders/check.ts'
import { BARE, CONTENDERS, DATABASE, HAND_WRITTEN, MAIN } from './contenders/contenders.ts'
import type { Stage } from './contenders/contender.ts'
import { SERVICE } from './contenders/service.ts'
import { createOrders, fillOrders } from './database/orders.ts'
import { createDatabase, startDatabase, type BenchDatabase } from './database/start.ts'
import { installDependencies } from './dependencies.ts'
import { growCatalog } from './growth/catalog-size.ts'
import { growConnections } from './growth/connections.ts'
import { measureLogging } from './growth/logging.ts'
import { growTable } from './growth/table-size.ts'
import { startGenerator } from './load/generator.ts'
import { CONNECTIONS, measureInTurns } from './measure/rounds.ts'
import { summarize } from './measure/summary.ts'
import { HELP, isWanted, readOptions, type Options } from './options.ts'
import { toMarkdown, workloadTable } from './report/markdown.ts'
import type { GrowthResult, Results, WorkloadResult } from './report/results.ts'
import { createStamp } from './report/stamp.ts'
import { writeResults } from './report/write.ts'
import { TABLE_SIZE, WORKLOADS } from './workloads.ts'

async function bench (options: Options): Promise<void> {
  await installDependencies()
  await build()
  const database = await startDatabase()
  const stage: Stage = { databaseUrl: await createShop(database), generator: startGenerator() }

  const workloads = await measureWorkloads(options, database, stage)
  const partial = options.workloads !== undefined || options.contenders !== undefined
  if (partial) return console.log('\n' + workloadTable(workloads))

  const growth = await measureGrowth(options, database, stage)
  const results: Results = { stamp: createStamp(database, describe(options)), workloads, growth }
  writeResults(new URL(options.quick ? 'results/quick/' : 'results/', import.meta.url), results, SERVICE)
  console.log('\n' + toMarkdown(results))
}

async function createShop (database: BenchDatabase): Promise<string> {
  const url = await createDatabase(database, DATABASE)
  await database.connection.query(`use ${DATABASE}`)
  for (const table of ['orders', 'new_orders']) await database.connection.query(createOrders(table))
  await database.connection.query(fillOrders('orders', 1, TABLE_SIZE))
  return url
}

async function measureWorkloads (options: Options, { connection }: BenchDatabase, stage: Stage): Promise<WorkloadResult[]> {
  const results: WorkloadResult[] = []
  for (const workload of WORKLOADS.filter(({ name }) => isWanted(name, options.workloads))) {
    console.log(`# ${workload.name}`)
    await connection.query('truncate table new_orders')
    const contenders = CONTENDERS.filter(({ name, workloads }) => isWanted(name, options.contenders) && workloads?.includes(workload.name) !== false)
    const turns = await measureInTurns(contenders.map((contender) => ({
      name: contender.name, contender, stage, workload, check: (running) => checkContender(contender, running, workload, connection)
    })), options, contenders.filter(({ name }) => MAIN.includes(name)).length)
    results.push({ workload: workload.name, rows: summarize(turns, { baseline: HAND_WRITTEN, alternatives: BARE }), turns })
  }
  return results
}

/** How the start grows with the number of tables is always told, the rest takes its time. */
async function measureGrowth (options: Options, database: BenchDatabase, stage: Stage): Promise<GrowthResult[]> {
  console.log('# growth')
  if (options.quick) return [await growCatalog(database, stage, [10, 1000], 2)]
  return [
    await growTable(database, stage, [1000, 10_000, 100_000, 1_000_000], options),
    await growCatalog(database, stage, [1, 10, 100, 1000, 2000], 5),
    await growConnections(stage, [1, 10, 50, 100, 200], options),
    await measureLogging(stage, options)
  ]
}

function describe ({ rounds, seconds }: Options): string {
  return `${rounds} rounds of ${seconds} s for each contender and workload, in turns; ${CONNECTIONS} clients, a pool of 10 connections, ${TABLE_SIZE.toLocaleString('en')} rows of 8 columns`
}

// the database, the contenders and their folders go when this process exits, whichever way it does
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
