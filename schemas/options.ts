/** What the plugin takes, and what a configuration file may say. `docs/configuration.md` has the same list; a test compares them. */
import { type Static, Type } from '@sinclair/typebox'
import { VERBS, VerbSchema } from './grant.ts'
import { ServerSchema } from './server.ts'

const closed = { additionalProperties: false }
const Name = Type.String({ pattern: '^[A-Za-z0-9_.-]{1,64}$' })
const Milliseconds = (fallback: number, description: string) =>
  Type.Integer({ minimum: 1, maximum: 86_400_000, default: fallback, description: `${description}, in milliseconds` })

export const PoolSchema = Type.Object({
  size: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 10, description: 'connections at most' })),
  queue: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000, default: 500, description: 'requests that may wait for a connection' })),
  wait: Type.Optional(Milliseconds(5000, 'how long one may wait for a connection')),
  idleTimeout: Type.Optional(Milliseconds(60_000, 'after how long without a request an idle connection is closed')),
  minimum: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000, default: 0, description: 'idle connections that are kept open all the same' }))
}, closed)

export const DatabaseSchema = Type.Object({
  url: Type.String({ minLength: 1, description: 'mysql://user:password@host:port/name (several hosts with commas between), mariadb://…, sqlite:path or sqlite::memory:' }),
  replicas: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description: 'URLs of copies of it that selects are sent to' })),
  pool: Type.Optional(PoolSchema),
  statementTimeout: Type.Optional(Milliseconds(10_000, 'how long one statement may run')),
  resultLimit: Type.Optional(Type.Integer({ minimum: 1000, maximum: 1_073_741_824, default: 67_108_864, description: 'bytes of one answer' })),
  refreshInterval: Type.Optional(Milliseconds(60_000, 'how often the catalog is read again')),
  setup: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description: 'SQL that makes the tables of sqlite::memory: and fills them' }))
}, closed)

export const TokenSchema = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100, description: 'shown in logs' }),
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256 of the token in lower-case hex' }),
  permissions: Type.Array(VerbSchema, {
    minItems: 1,
    uniqueItems: true,
    description: `any of ${VERBS.join(', ')}`
  }),
  databases: Type.Optional(Type.Record(Type.String(), Type.Union([Type.Literal('*'), Type.Array(Type.String(), { minItems: 1 })], {
    description: 'every table, or a list of tables'
  }), {
    description: 'where the permissions hold: database to "*" or a list of tables; everywhere if left out'
  })),
  expires: Type.Optional(Type.String({ description: 'a date or a time with an offset, such as 2027-01-01' }))
}, closed)

export const LimitsSchema = Type.Object({
  filterDepth: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 32, description: 'levels of nested filters' })),
  filterConditions: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, default: 256, description: 'conditions in one body' })),
  filterValues: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535, default: 10_000, description: 'values in the lists of one body' })),
  filterPattern: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535, default: 1000, description: 'characters in one pattern' })),
  answerMemory: Type.Optional(Type.Integer({ minimum: 2_097_152, maximum: 1_099_511_627_776, default: 134_217_728, description: 'bytes of all answers together that are being made, or that clients have not taken yet; requests beyond are refused with 503' }))
}, closed)

export const RateLimitSchema = Type.Object({
  max: Type.Integer({ minimum: 1, description: 'requests of one token in each window' }),
  window: Type.Optional(Milliseconds(60_000, 'length of a window'))
}, closed)

export const FailedLoginsSchema = Type.Object({
  max: Type.Optional(Type.Integer({ minimum: 0, default: 30, description: 'requests with a wrong token of one address in each window, after which it is refused until the window ends; 0 for any number' })),
  window: Type.Optional(Milliseconds(60_000, 'length of a window'))
}, closed)

export const CorsSchema = Type.Object({
  origins: Type.Array(Type.String({ pattern: '^(\\*|https?://[^/\\s]+)$' }), {
    minItems: 1,
    description: 'origins whose pages may send requests, such as https://app.example.com; "*" for every one'
  })
}, closed)

export const OptionsSchema = Type.Object({
  databases: Type.Record(Name, DatabaseSchema, {
    additionalProperties: false,
    minProperties: 1,
    description: 'a name of 1 to 64 letters, digits and _ . - to each database'
  }),
  tokens: Type.Optional(Type.Array(TokenSchema, { description: 'who may do what; without any, every request is refused' })),
  tokensFile: Type.Optional(Type.String({ minLength: 1, description: 'path of a JSON file with a list of more such entries; a change of it counts at once' })),
  bodyLimit: Type.Optional(Type.Integer({ minimum: 1, default: 1_048_576, description: 'bytes of a request body' })),
  limits: Type.Optional(LimitsSchema),
  rateLimit: Type.Optional(RateLimitSchema),
  failedLogins: Type.Optional(FailedLoginsSchema),
  cors: Type.Optional(CorsSchema),
  openapi: Type.Optional(Type.Union([Type.Literal('token'), Type.Literal('public'), Type.Literal('off')], {
    default: 'token',
    description: 'who may read the OpenAPI documents: a token sees what it may do, everybody sees everything, nobody'
  })),
  docs: Type.Optional(Type.Boolean({ default: false, description: 'whether there is a page to look at the documents and try requests' })),
  tracing: Type.Optional(Type.Boolean({ default: true, description: 'whether OpenTelemetry, where it is set up, is given spans of each request' })),
  serverTiming: Type.Optional(Type.Boolean({ default: false, description: 'whether answers have a Server-Timing header' })),
  requestLog: Type.Optional(Type.Boolean({ default: false, description: 'whether each request has a line in the log' })),
  metrics: Type.Optional(Type.Boolean({ default: false, description: 'whether requests, connections and catalogs are counted' }))
}, closed)

/** A configuration file. Of what the server takes in another form than the plugin, its form is the one. */
export const ConfigSchema = Type.Composite([Type.Omit(OptionsSchema, Object.keys(ServerSchema.properties) as Array<'requestLog' | 'metrics'>), ServerSchema], closed)

export type RowQueryOptions = Static<typeof OptionsSchema>
export type Config = Static<typeof ConfigSchema>
export type DatabaseOptions = Static<typeof DatabaseSchema>
export type TokenOptions = Static<typeof TokenSchema>
