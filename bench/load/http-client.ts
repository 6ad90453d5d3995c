import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { AnswerReader } from './answer-reader.ts'
import type { Client } from './loop.ts'

export interface HttpClient { readonly client: Client, readonly close: () => void }

/**
 * One connection that is kept open and carries one request at a time; the requests are bytes made before. Where it is closed in
 * the middle, that request counts as failed and another connection is opened. @throws where nobody listens
 */
export async function connectHttpClient (port: number, requests: readonly Buffer[]): Promise<HttpClient> {
  let done: (good: boolean) => void = () => {}
  let closed = false

  const open = async (): Promise<Socket> => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    await once(socket, 'connect')
    const reader = new AnswerReader()
    socket.on('data', (bytes: Buffer) => {
      if (reader.read(bytes)) done(reader.status >= 200 && reader.status < 300)
    })
    socket.on('error', () => {}) // it closes then
    socket.on('close', () => { if (!closed) reopen() })
    return socket
  }
  let socket = await open()
  // a contender that is gone ends the load generator, and the run with it: there is nothing left to measure
  const reopen = async (): Promise<void> => {
    socket = await open()
    done(false)
  }

  return {
    client: (operation, callback) => {
      done = callback
      socket.write(requests[operation] as Buffer)
    },
    close: () => {
      closed = true
      socket.destroy()
    }
  }
}
