/** Requests of several addresses, with tokens that are right or wrong. */
import { type Service, TOKEN } from './service.ts'

export interface From { address?: string, authorization?: string, forwarded?: string, path?: string }

/** Sends a request from an address, as reported by the socket or a proxy. */
export async function ask (
  { server: { app } }: Pick<Service, 'server'>,
  { address = '192.0.2.1', authorization, forwarded, path = '/api/shop/customers' }: From
) {
  const response = await app.inject({
    method: 'POST',
    url: path,
    remoteAddress: address,
    headers: {
      'content-type': 'application/json',
      ...(authorization !== undefined && { authorization }),
      ...(forwarded !== undefined && { 'x-forwarded-for': forwarded })
    },
    payload: { verb: 'select', columns: ['id'], limit: 1 }
  })
  return { status: response.statusCode, headers: response.headers, text: response.body, json: response.json() }
}

export const right = `Bearer ${TOKEN}`
export const wrong = 'Bearer wrong'
