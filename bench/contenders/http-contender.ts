import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../test/servers/free-port.ts'
import type { Operation } from '../workloads.ts'
import { toRequestText, type Api } from './apis.ts'
import type { Contender, Running, Stage } from './contender.ts'
import { spawnProgram, type Program, type Spawned } from './spawn.ts'

/** The time limit of a start, in milliseconds. */
const PATIENCE = 60_000

/** A request that succeeds once the contender has started: every table of orders has this row. */
const FIRST_QUESTION: Operation = { kind: 'key', id: 1 }

/** A body that must be rejected by contenders that validate values. */
const WRONG: Operation = { kind: 'update', id: 1, status: 'no such status', quantity: 1 }

interface Options extends Pick<Contender, 'name'> {
  readonly api: Api
  program (databaseUrl: string, port: number): Program
}

export function httpContender ({ name, program, api }: Options): Contender {
  return { name, start: (stage) => startHttp(program, api, stage) }
}

async function startHttp (program: Options['program'], api: Api, { databaseUrl, generator }: Stage): Promise<Running> {
  const port = await freePort()
  const begin = performance.now()
  const server = spawnProgram(program(databaseUrl, port))
  const send = (operation: Operation, headers = api.headers): Promise<Response> => post(port, api, operation, headers)
  await untilItAnswers(server, () => send(FIRST_QUESTION))
  return {
    pid: server.pid,
    port,
    startSeconds: (performance.now() - begin) / 1000,
    async run (operation) {
      const response = await send(operation)
      if (!response.ok) throw new Error(`it answered ${response.status} ${await response.text()}`)
      return api.rowsOf(await response.json())
    },
    turn: ({ workload: { operations }, ...options }) => generator.turn({
      ...options,
      port,
      pid: server.pid,
      requests: operations.map((operation) => toRequestText(port, api, api.toRequest(operation)))
    }),
    refusals: async () => [(await send(FIRST_QUESTION, {})).status, (await send(WRONG)).status],
    stop: () => server.stop()
  }
}

function post (port: number, api: Api, operation: Operation, headers: Api['headers']): Promise<Response> {
  const { method, path, body } = api.toRequest(operation)
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) })
  })
}

async function untilItAnswers ({ child, printed }: Spawned, attempt: () => Promise<Response>): Promise<void> {
  const end = performance.now() + PATIENCE
  for (;;) {
    const response = await attempt().catch(() => undefined) // nobody listens yet
    await response?.arrayBuffer()
    if (response?.ok === true) return
    if (child.exitCode !== null || performance.now() > end) throw new Error(`it does not start: ${response?.status ?? ''} ${printed()}`)
    await sleep(5)
  }
}
