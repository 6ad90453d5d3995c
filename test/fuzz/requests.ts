/** Generates requests as bytes: any method, path, header and framing, with a valid body. */
import fc, { type Arbitrary } from 'fast-check'
import { TOKEN } from '../support/service.ts'

export interface Request {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
  readonly lines: readonly string[]
  /** The body with its framing headers. */
  readonly framing: readonly [headers: readonly string[], body: string]
}

export const BODY = '{"verb":"select","columns":["id"],"limit":1}'
export const PATH = '/api/shop/customers'

const odd = fc.oneof(
  fc.constantFrom('', '.', '..', '%', '%00', '%2e%2e', '%2f', '%252f', '%5c', '%ff', '%c0%af', '%ed%a0%80',
    '%F0%9F%98%80', '*', ':table', '$', ';', '?a=b', '#', "'", '`', '"', '<b>', '\x7f', '\xe9', 'é', '__proto__',
    'constructor', 'toString',
    'Customers', 'CUSTOMERS', 'shop.customers', 'customers%20', 'customers%00', 'customers/', 'customer_s',
    'sqlite_schema', 'sqlite_sequence', 'performance_schema', 'openapi.json', 'docs', 'x'.repeat(300),
    '%61'.repeat(400), 'x'.repeat(20_000)),
  fc.string({ maxLength: 8 }).map(encodeURIComponent),
  fc.string({ unit: fc.integer({ min: 0x21, max: 0xff }).map((code) => String.fromCharCode(code)), maxLength: 8 })
)
const encoded = (name: string): Arbitrary<string> => fc.array(fc.boolean(), {
  minLength: name.length, maxLength: name.length
})
  .map((flags) => Array.from(
    name, (letter, index) => flags[index] === true ? `%${letter.charCodeAt(0).toString(16)}` : letter
  ).join(''))
const path: Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(PATH) },
  { weight: 1, arbitrary: fc.tuple(encoded('shop'), encoded('customers')).map((names) => `/api/${names.join('/')}`) },
  {
    weight: 3,
    arbitrary: fc.tuple(
      fc.constantFrom('/api', '/API', '//api', '', '/api/..', '/%61pi', 'http://127.0.0.1/api'),
      fc.oneof(fc.constant('shop'), odd), fc.oneof(fc.constant('customers'), odd)
    ).map((parts) => parts.join('/'))
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '*', '/', '', '/api', '/api/shop', '/api/shop/', `${PATH}/`, `${PATH}?`, `${PATH}?verb=delete`, `${PATH}#x`,
    `${PATH}/1`, `/${PATH}`, '/api/shop//customers', 'api/shop/customers'
    )
  }
)
const method = fc.oneof({ weight: 4, arbitrary: fc.constant('POST') }, {
  weight: 1,
  arbitrary: fc.constantFrom(
    'GET', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'CONNECT', 'PROPFIND', 'QUERY', 'post', 'POS',
    'POST\t',
    ''
  )
})
const authorization = fc.oneof(
  { weight: 4, arbitrary: fc.constant(`Bearer ${TOKEN}`) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      undefined, '', 'Bearer', 'Bearer ', `bearer ${TOKEN}`, `Bearer  ${TOKEN}`, `Bearer ${TOKEN} `, `Bearer\t${TOKEN}`,
    `Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(1)}`, `Bearer ${TOKEN.toUpperCase()}`, `Bearer ${TOKEN}, Bearer x`,
    `Basic ${TOKEN}`, TOKEN, `Token ${TOKEN}`, 'Bearer null', 'Bearer undefined', `Bearer ${'x'.repeat(9000)}`,
    'Bearer \xe9'
    )
  },
  {
    weight: 1,
    arbitrary: fc.string({
      unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)), maxLength: 60
    })
  }
)
const lines = fc.array(fc.oneof(
  fc.constantFrom('Content-Type: application/json', 'Content-Type: text/plain', 'Host: other',
    'Authorization: Bearer x', 'Connection: keep-alive, close', 'Expect: 100-continue', 'Expect: everything',
    'Upgrade: websocket', 'TE: trailers', 'Cookie: a=b', 'X-Forwarded-For: 127.0.0.1',
    'X-HTTP-Method-Override: DELETE', 'Content-Encoding: gzip', 'Content-Encoding: identity', 'Accept: text/html',
    'Range: bytes=0-1', 'If-None-Match: *', 'Accept-Version: 2.0.0', 'X-Request-Id: mine',
    `X-Request-Id: ${'x'.repeat(200)}`, 'X-Request-Id: \xe9', 'X-Request-Id:',
    'Transfer-Encoding: chunked', 'Transfer-Encoding: gzip, chunked', 'Content-Length: 5', 'Content-Length: -1',
    'Content-Length: 0x2c', 'Content-Length : 44', ' folded: line', 'no colon', ': no name', 'a\0b: c', 'a: b\0c',
    'a: b\rc', `a: ${'x'.repeat(20_000)}`),
  fc.tuple(fc.string({
    unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)), minLength: 1, maxLength: 10
  }), fc.string({ maxLength: 20 })).map((parts) => parts.join(': ').replace(/[\r\n]/g, ' '))
), { maxLength: 2 })
const framing: Arbitrary<Request['framing']> = fc.oneof(
  { weight: 5, arbitrary: fc.constant([[`Content-Length: ${BODY.length}`], BODY] as const) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Request['framing']>(
      [['Transfer-Encoding: chunked'], `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`],
      [
        ['Transfer-Encoding: chunked'],
        `${Array.from(BODY, (letter) => `1;x=y\r\n${letter}\r\n`).join('')}0\r\nTrailer: x\r\n\r\n`
      ],
      [['Transfer-Encoding: chunked'], `fffffffffffffffff\r\n${BODY}\r\n0\r\n\r\n`],
      [['Transfer-Encoding: chunked'], `-1\r\n${BODY}\r\n0\r\n\r\n`],
      [['Transfer-Encoding: chunked', `Content-Length: ${BODY.length}`], `0\r\n\r\n${BODY}`],
      [[`Content-Length: ${BODY.length}`, 'Content-Length: 0'], BODY],
      [[`Content-Length: ${BODY.length + 5}`], BODY],
      [['Content-Length: 99999999999999999999'], BODY],
      [['Content-Length: 2000000'], BODY],
      [[], BODY]
    )
  }
)

export const requests: Arbitrary<Request> = fc.record({ method, path, authorization, lines, framing })

/** Encodes as Latin-1, so that a line can have any byte. */
export function bytesOf ({ method, path, authorization, lines, framing: [headers, body] }: Request): Buffer {
  const authorized = authorization === undefined ? [] : [`Authorization: ${authorization}`]
  const head = [
    `${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1', 'Content-Type: application/json', 'Connection: close',
    ...authorized, ...headers, ...lines
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`, 'latin1')
}
