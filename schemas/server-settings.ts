/** Settings that only the server has, or that have another form there than in the plugin. */
import { type SchemaOptions, type Static, Type } from '@sinclair/typebox'

export const closed = { additionalProperties: false }
/** A text that is not empty. */
export const Text = (description: string) => Type.String({ minLength: 1, description })
export const OneOf = <const T extends string>(values: readonly T[], options: SchemaOptions = {}) =>
  Type.Union(values.map((value) => Type.Literal(value)), options)
/** A whole number from a minimum to a maximum, and its default. */
export const Whole = (minimum: number, maximum: number, fallback: number, description: string) =>
  Type.Integer({ minimum, maximum, default: fallback, description })
export const Milliseconds = (fallback: number, description: string) =>
  Whole(1, 86_400_000, fallback, `${description}, in milliseconds`)

export const HttpSchema = Type.Partial(Type.Object({
  headersTimeout: Milliseconds(10_000, 'time limit for the headers of a request'),
  requestTimeout: Milliseconds(30_000, 'time limit for a complete request'),
  bodyTimeout: Milliseconds(30_000, 'time limit for the next bytes of an import'),
  keepAliveTimeout: Milliseconds(72_000, 'idle time before a connection is closed'),
  answerTimeout: Milliseconds(60_000, 'interval over which answerRate is measured'),
  answerRate: Whole(1, 1_073_741_824, 65_536, 'bytes per second that a client must receive'),
  maxHeaderSize: Whole(1024, 1_048_576, 16_384, 'largest headers of a request, in bytes'),
  maxConnections: Whole(1, 1_000_000, 10_000, 'maximum connections; further ones are closed')
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
  delay: Whole(0, 86_400_000, 0, 'time for which /health/ready is 503 before the port closes, in milliseconds'),
  timeout: Milliseconds(10_000, 'time limit for running requests')
}), { ...closed, default: {}, description: 'how the server stops after SIGTERM or SIGINT' })

export const HttpsSchema = Type.Object({
  cert: Text('path of the certificate chain (PEM)'),
  key: Text('path of the private key (PEM)'),
  ca: Type.Optional(Text('path of a CA certificate (PEM): clients need a certificate of this CA'))
}, { ...closed, description: 'HTTPS with TLS 1.2 or later; SIGHUP reads the files again' })

/** The patterns check addresses only in part; src/config/load.ts checks the rest. */
export const ServerSchema = Type.Partial(Type.Object({
  host: Type.String({
    minLength: 1,
    default: LOOPBACK,
    description: 'address to listen on; 0.0.0.0 for all'
  }),
  port: Whole(0, 65_535, 3000, 'port to listen on; 0 for any free port'),
  workers: Type.Union([Type.Integer({ minimum: 1, maximum: 1000 }), Type.Literal('auto')], {
    default: 1,
    description: 'processes that handle requests; auto: one for each available core'
  }),
  prefix: Type.String({
    pattern: '^(/[A-Za-z0-9._~-]+)*$',
    default: '/api',
    description: 'a path such as /api, without a trailing slash'
  }),
  logLevel: OneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
    default: 'info',
    description: 'lowest level in the log'
  }),
  logFormat: OneOf(['auto', 'pretty', 'json'], {
    default: 'auto',
    description: 'form of the log; auto: pretty on a terminal, else json; with json, the start prints nothing else'
  }),
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
