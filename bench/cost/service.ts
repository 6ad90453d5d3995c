/**
 * The service as `row-query serve` runs it, in a process that counts its own calls and allocations. measure.ts starts it and asks the questions;
 * the argument is the folder of the checkout.
 */
import { existsSync } from 'node:fs'
import { Session } from 'node:inspector'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { RowQuery } from '../../src/index.ts'
import { answer } from '../ask.ts'
import { NAMED } from './requests.ts'

export type Question =
  | { readonly ask: 'port' | 'startCounting' | 'takeCounts' }
  /** The bytes of the heap in use; `collect`: after what is unused has been freed. */
  | { readonly ask: 'heap', readonly collect: boolean }
  /** Runs requests in process, one after the other. */
  | { readonly ask: 'run', readonly request: object, readonly times: number }

/** Calls of functions: of this project, of its packages, and of Node. */
export interface Calls { readonly ours: number, readonly packages: number, readonly node: number }

const [folder] = process.argv.slice(2) as [string]
const OURS = ['src', 'plugins', 'schemas'].map((name) => pathToFileURL(join(folder, name)).href + '/')
const inspector = new Session()
inspector.connect()

const load = async (file: string): Promise<any> => await import(pathToFileURL(join(folder, file)).href)

async function start (): Promise<{ rows: RowQuery, port: number }> {
  const files = ['src/config/load.ts', 'src/server/server.ts', 'src/cli/start-server.ts']
  const [{ loadConfig, splitConfig }, { createServer }, { tuneGarbageCollection }] = await Promise.all(files.map(load))
  tuneGarbageCollection()
  const { server: { metrics, ...settings }, options } = splitConfig(loadConfig(process.env, {}).config)
  const [database] = Object.keys(options.databases) as [string]
  // another checkout may not have them
  const requests = existsSync(join(folder, 'src/named')) ? { requests: NAMED(database) } : {}
  const { app, rows } = await createServer({ options: { ...options, ...requests }, ...settings, metricsApart: metrics !== undefined })
  await app.listen({ host: '127.0.0.1', port: 0 })
  return { rows, port: (app.server.address() as AddressInfo).port }
}

/** A session in its own thread answers before `post` returns. */
function post (method: string, parameters: object = {}): any {
  let answered: unknown
  inspector.post(method, parameters, (error, result) => {
    if (error !== null) throw error
    answered = result
  })
  return answered
}

/** Those since counting began, or since it was called before. */
function takeCounts (): Calls {
  const { result: scripts } = post('Profiler.takePreciseCoverage')
  const count = (isMeant: (url: string) => boolean): number => {
    const functions = scripts.filter(({ url }: { url: string }) => isMeant(url)).flatMap(({ functions }: any) => functions)
    return functions.reduce((sum: number, { ranges: [range] }: any) => sum + range.count, 0)
  }
  return {
    ours: count((url) => OURS.some((start) => url.startsWith(start))),
    packages: count((url) => url.includes('/node_modules/')),
    node: count((url) => url.startsWith('node:'))
  }
}

const { rows, port } = await start()

answer(async (question: Question): Promise<unknown> => {
  switch (question.ask) {
    case 'port': return port
    case 'heap':
      if (question.collect) post('HeapProfiler.collectGarbage')
      return process.memoryUsage().heapUsed
    case 'startCounting':
      post('Profiler.enable')
      return post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    case 'takeCounts': return takeCounts()
    case 'run':
      for (let time = 0; time < question.times; time++) await rows.execute(question.request as never)
  }
})
