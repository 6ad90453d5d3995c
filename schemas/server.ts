/** What the server adds to the plugin's options, or takes in another form. */
import { type Static, Type } from '@sinclair/typebox'

const closed = { additionalProperties: false }
const Milliseconds = (fallback: number, description: string) =>
  Type.Integer({ minimum: 1, maximum: 86_400_000, default: fallback, description: `${description}, in milliseconds` })

export const HttpSchema = Type.Object({
  headersTimeout: Type.Optional(Milliseconds(10_000, 'how long the head of a request may take to arrive')),
  requestTimeout: Type.Optional(Milliseconds(30_000, 'how long a whole request may take to arrive')),
  keepAliveTimeout: Type.Optional(Milliseconds(72_000, 'how long a connection may wait for its next request')),
  answerTimeout: Type.Optional(Milliseconds(60_000, 'after how long a client must have taken its answer, or as much of it as answerRate says, again and again')),
  answerRate: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_073_741_824, default: 65_536, description: 'bytes of an answer that a client must take in a second, on average over answerTimeout' })),
  maxHeaderSize: Type.Optional(Type.Integer({ minimum: 1024, maximum: 1_048_576, default: 16_384, description: 'bytes of the head of a request' })),
  maxConnections: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, default: 10_000, description: 'connections at most; the next ones are closed' }))
}, closed)

export const SERVER_DEFAULTS = { host: '127.0.0.1', port: 3000, prefix: '/api', logLevel: 'info', requestLog: true, metrics: false } as const

const MetricsSchema = Type.Union([Type.Boolean(), Type.Object({
  host: Type.Optional(Type.String({ minLength: 1, default: SERVER_DEFAULTS.host, description: 'address to listen on for metrics' })),
  port: Type.Integer({ minimum: 0, maximum: 65_535, description: 'port for metrics alone' })
}, closed)], { default: SERVER_DEFAULTS.metrics, description: 'true: /metrics beside the service, for tokens of every database; an object: on a port of its own, for everybody' })

export const ShutdownSchema = Type.Object({
  delay: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400_000, default: 0, description: 'how long /health/ready says no before the port closes, in milliseconds' })),
  timeout: Type.Optional(Milliseconds(10_000, 'how long running requests may take to finish'))
}, closed)

export const HttpsSchema = Type.Object({
  cert: Type.String({ minLength: 1, description: 'path of the certificate in PEM form, with those between it and its authority behind it' }),
  key: Type.String({ minLength: 1, description: 'path of its private key in PEM form' }),
  ca: Type.Optional(Type.String({ minLength: 1, description: 'path of the certificate of an authority that clients need a certificate of' }))
}, { ...closed, description: 'TLS of our own, 1.2 or later; read again on SIGHUP' })

/** Patterns leave to src/config/server-settings.ts whether an address is one. */
export const ServerSchema = Type.Object({
  host: Type.Optional(Type.String({ minLength: 1, default: SERVER_DEFAULTS.host, description: 'address to listen on; 0.0.0.0 for every one of this machine' })),
  port: Type.Optional(Type.Integer({ minimum: 0, maximum: 65_535, default: SERVER_DEFAULTS.port, description: '0 for any that is free' })),
  prefix: Type.Optional(Type.String({ pattern: '^(/[A-Za-z0-9._~-]+)*$', default: SERVER_DEFAULTS.prefix, description: 'a path such as /api, without a slash at its end' })),
  logLevel: Type.Optional(Type.Union(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'].map((level) => Type.Literal(level)), {
    default: SERVER_DEFAULTS.logLevel,
    description: 'the least important log lines that are written'
  })),
  requestLog: Type.Optional(Type.Boolean({ default: SERVER_DEFAULTS.requestLog, description: 'whether each request has a line in the log' })),
  metrics: Type.Optional(MetricsSchema),
  shutdown: Type.Optional(ShutdownSchema),
  trustProxy: Type.Optional(Type.Array(Type.String({ pattern: '^(loopback|linklocal|uniquelocal|[0-9A-Fa-f:.]+(/[0-9]{1,3})?)$' }), {
    description: 'addresses or networks of proxies, such as 10.0.0.0/8 or loopback, whose X-Forwarded-For is believed'
  })),
  http: Type.Optional(HttpSchema),
  https: Type.Optional(HttpsSchema)
}, closed)

export type HttpsOptions = Static<typeof HttpsSchema>
export type HttpOptions = Static<typeof HttpSchema>
export type ServerOptions = Static<typeof ServerSchema>
