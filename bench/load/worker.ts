/** The process that sends requests over HTTP, separate from everything that is measured. */
import { answer } from '../ask.ts'
import type { HttpTurn } from './generator.ts'
import { connectHttpClient } from './http-client.ts'
import { runLoop, type TurnResult } from './loop.ts'

answer(async ({ port, connections, requests, ...turn }: HttpTurn): Promise<TurnResult> => {
  const bytes = requests.map((request) => Buffer.from(request))
  const clients = await Promise.all(Array.from({ length: connections }, () => connectHttpClient(port, bytes)))
  try {
    return await runLoop(clients.map(({ client }) => client), bytes.length, turn)
  } finally {
    for (const { close } of clients) close()
  }
})
