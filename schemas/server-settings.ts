/** Settings that only the server has, or that have another form there than in the plugin. */
import { type Static, Type } from '@sinclair/typebox'

export const closed = { additionalProperties: false }
export const Milliseconds = (fallback: number, description: string) =>
  Type.Integer({ minimum: 1, maximum: 86_400_000, default: fallback, description: `${description}, in milliseconds` })

export const HttpSchema = Type.Partial(Type.Object({
  headersTimeout: Milliseconds(10_000, 'time limit for receiving the headers of a request'),
  requestTimeout: Milliseconds(30_000, 'time limit for receiving a complete request'),
  bodyTimeout: Milliseconds(
    30_000,
    'how long an import waits for bytes of its client; requestTimeout does not apply to its body'
  ),
  keepAliveTimeout: Milliseconds(72_000, 'how long a connection may be idle between requests'),
  answerTimeout: Milliseconds(
    60_000,
    'interval over which answerRate is measured; a client that does not receive its answer fast enough is ' +
    'disconnected'
  ),
  answerRate: Type.Integer({
    minimum: 1,
    maximum: 1_073_741_824,
    default: 65_536,
    description: 'minimum rate at which a client must receive its answer, in bytes per second'
  }),
  maxHeaderSize: Type.Integer({
    minimum: 1024,
    maximum: 1_048_576,
    default: 16_384,
    description: 'maximum size of the headers of a request, in bytes'
  }),
  maxConnections: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 10_000,
    description: 'maximum number of connections; further ones are closed'
  })
}), { ...closed, default: {}, description: 'limits of the connections of clients' })

const LOOPBACK = '127.0.0.1'

const MetricsSchema = Type.Union([
  Type.Boolean(),
  Type.Object({
    host: Type.Optional(
      Type.String({ minLength: 1, default: LOOPBACK, description: 'address on which metrics are served' })
    ),
    port: Type.Integer({ minimum: 0, maximum: 65_535, description: 'port on which only metrics are served' })
  }, closed)
], {
  default: false,
  description:
    'true: /metrics on the port of the service, for tokens that are valid for all databases; an object: on a ' +
    'separate port, without authentication'
})

export const ShutdownSchema = Type.Partial(Type.Object({
  delay: Type.Integer({
    minimum: 0,
    maximum: 86_400_000,
    default: 0,
    description: 'how long /health/ready answers 503 before the port is closed, in milliseconds'
  }),
  timeout: Milliseconds(10_000, 'time limit for running requests to finish')
}), { ...closed, default: {}, description: 'how the server stops after SIGTERM or SIGINT' })

export const HttpsSchema = Type.Object({
  cert: Type.String({ minLength: 1, description: 'path of the certificate chain in PEM format' }),
  key: Type.String({ minLength: 1, description: 'path of the private key in PEM format' }),
  ca: Type.Optional(Type.String({
    minLength: 1,
    description: 'path of a CA certificate; clients must present a certificate that this CA has signed'
  }))
}, { ...closed, description: 'serves HTTPS with TLS 1.2 or later; the files are read again on SIGHUP' })

/** The patterns check addresses only in part; src/config/load.ts checks the rest. */
export const ServerSchema = Type.Partial(Type.Object({
  host: Type.String({
    minLength: 1,
    default: LOOPBACK,
    description: 'address to listen on; 0.0.0.0 for all addresses of the machine'
  }),
  port: Type.Integer({
    minimum: 0,
    maximum: 65_535,
    default: 3000,
    description: 'port to listen on; 0 for any free port'
  }),
  workers: Type.Union([Type.Integer({ minimum: 1, maximum: 1000 }), Type.Literal('auto')], {
    default: 1,
    description: 'number of processes that answer requests at one address; auto for one per available core'
  }),
  prefix: Type.String({
    pattern: '^(/[A-Za-z0-9._~-]+)*$',
    default: '/api',
    description: 'a path such as /api, without a trailing slash'
  }),
  logLevel: Type.Union(
    (['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const).map((level) => Type.Literal(level)),
    { default: 'info', description: 'lowest level that is logged' }
  ),
  logFormat: Type.Union(
    (['auto', 'pretty', 'json'] as const).map((format) => Type.Literal(format)),
    {
      default: 'auto',
      description:
        'form of the log: pretty for people, json for programs, auto for pretty on a terminal and json ' +
        'elsewhere; with json, the start prints nothing else'
    }
  ),
  requestLog: Type.Boolean({ default: true, description: 'whether each request is logged' }),
  metrics: MetricsSchema,
  shutdown: ShutdownSchema,
  trustProxy: Type.Array(
    Type.String({
      pattern: '^(loopback|linklocal|uniquelocal|[0-9A-Fa-f:.]+(/[0-9]{1,3})?)$',
      description: 'an IP address, a network such as 10.0.0.0/8, or loopback, linklocal or uniquelocal'
    }),
    {
      default: [],
      description:
        'addresses or networks of proxies, such as 10.0.0.0/8 or loopback, whose X-Forwarded-For header is trusted'
    }
  ),
  http: HttpSchema,
  https: HttpsSchema
}), closed)

export type HttpsOptions = Static<typeof HttpsSchema>
export type HttpOptions = Static<typeof HttpSchema>
export type ServerConfig = Static<typeof ServerSchema>
