import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { AnswerReader } from './answer-reader.ts'
import type { Client } from './loop.ts'

/** Stands in a request for a number of as many digits, which is another one each time that the request is sent. */
export const NUMBER = 'number-of-this-request'
let sent = 0

export interface HttpClient { readonly client: Client, readonly close: () => void }

/**
 * A persistent connection with one request at a time; the requests are prepared bytes. If it is closed during
 * a request, the request counts as failed and another connection is opened. @throws if the server does not listen
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
  // If a contender has ended, the load generator and the whole run end too.
  const reopen = async (): Promise<void> => {
    socket = await open()
    done(false)
  }

  return {
    client: (operation, callback) => {
      done = callback
      socket.write(numbered(requests[operation] as Buffer))
    },
    close: () => {
      closed = true
      socket.destroy()
    }
  }
}

function numbered (request: Buffer): Buffer {
  const place = request.indexOf(NUMBER)
  if (place < 0) return request
  const copy = Buffer.from(request)
  copy.write(String(++sent).padStart(NUMBER.length, '0'), place)
  return copy
}
