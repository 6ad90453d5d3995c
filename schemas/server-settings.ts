/** Settings that only the server has, or that have another form there than in the plugin. */
import { type Static, Type } from '@sinclair/typebox'

export const closed = { additionalProperties: false }
export const Milliseconds = (fallback: number, description: string) =>
  Type.Integer({ minimum: 1, maximum: 86_400_000, default: fallback, description: `${description}, in milliseconds` })

export const HttpSchema = Type.Partial(Type.Object({
  headersTimeout: Milliseconds(10_000, 'time limit for the headers of a request'),
  requestTimeout: Milliseconds(30_000, 'time limit for a complete request'),
  bodyTimeout: Milliseconds(
    30_000,
    'time limit for the next bytes of an import'
  ),
  keepAliveTimeout: Milliseconds(72_000, 'idle time before a connection is closed'),
  answerTimeout: Milliseconds(60_000, 'interval over which answerRate is measured'),
  answerRate: Type.Integer({
    minimum: 1,
    maximum: 1_073_741_824,
    default: 65_536,
    description: 'bytes per second that a client must receive'
  }),
  maxHeaderSize: Type.Integer({
    minimum: 1024,
    maximum: 1_048_576,
    default: 16_384,
    description: 'largest headers of a request, in bytes'
  }),
  maxConnections: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 10_000,
    description: 'maximum connections; further ones are closed'
  })
}), { ...closed, default: {}, description: 'limits of the connections of clients' })

const LOOPBACK = '127.0.0.1'

const MetricsSchema = Type.Union([
  Type.Boolean(),
  Type.Object({
    host: Type.Optional(
      Type.String({ minLength: 1, default: LOOPBACK, description: 'address for metrics' })
    ),
    port: Type.Integer({ minimum: 0, maximum: 65_535, description: 'port for metrics only' })
  }, closed)
], {
  default: false,
  description:
    '/metrics: true on the port of the service, for tokens of all databases; an object on its own port, without tokens'
})

const ShutdownSchema = Type.Partial(Type.Object({
  delay: Type.Integer({
    minimum: 0,
    maximum: 86_400_000,
    default: 0,
    description: 'time for which /health/ready is 503 before the port closes, in milliseconds'
  }),
  timeout: Milliseconds(10_000, 'time limit for running requests')
}), { ...closed, default: {}, description: 'how the server stops after SIGTERM or SIGINT' })

export const HttpsSchema = Type.Object({
  cert: Type.String({ minLength: 1, description: 'path of the certificate chain (PEM)' }),
  key: Type.String({ minLength: 1, description: 'path of the private key (PEM)' }),
  ca: Type.Optional(Type.String({
    minLength: 1,
    description: 'path of a CA certificate (PEM): clients need a certificate of this CA'
  }))
}, { ...closed, description: 'HTTPS with TLS 1.2 or later; SIGHUP reads the files again' })

/** The patterns check addresses only in part; src/config/load.ts checks the rest. */
export const ServerSchema = Type.Partial(Type.Object({
  host: Type.String({
    minLength: 1,
    default: LOOPBACK,
    description: 'address to listen on; 0.0.0.0 for all'
  }),
  port: Type.Integer({
    minimum: 0,
    maximum: 65_535,
    default: 3000,
    description: 'port to listen on; 0 for any free port'
  }),
  workers: Type.Union([Type.Integer({ minimum: 1, maximum: 1000 }), Type.Literal('auto')], {
    default: 1,
    description: 'processes that handle requests; auto: one for each available core'
  }),
  prefix: Type.String({
    pattern: '^(/[A-Za-z0-9._~-]+)*$',
    default: '/api',
    description: 'a path such as /api, without a trailing slash'
  }),
  logLevel: Type.Union(
    (['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const).map((level) => Type.Literal(level)),
    { default: 'info', description: 'lowest level in the log' }
  ),
  logFormat: Type.Union(
    (['auto', 'pretty', 'json'] as const).map((format) => Type.Literal(format)),
    {
      default: 'auto',
      description:
        'form of the log; auto: pretty on a terminal, else json; with json, the start prints nothing else'
    }
  ),
  requestLog: Type.Boolean({ default: true, description: 'log line for each request' }),
  metrics: MetricsSchema,
  shutdown: ShutdownSchema,
  trustProxy: Type.Array(
    Type.String({
      pattern: '^(loopback|linklocal|uniquelocal|[0-9A-Fa-f:.]+(/[0-9]{1,3})?)$',
      description: 'an IP address, a network such as 10.0.0.0/8, or loopback, linklocal or uniquelocal'
    }),
    {
      default: [],
      description: 'proxies whose X-Forwarded-For is used: addresses or networks, such as 10.0.0.0/8'
    }
  ),
  http: HttpSchema,
  https: HttpsSchema
}), closed)

export type HttpsOptions = Static<typeof HttpsSchema>
export type HttpOptions = Static<typeof HttpSchema>
export type ServerConfig = Static<typeof ServerSchema>
