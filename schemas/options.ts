/**
 * The options of the plugin and the configuration file, with their defaults. `npm run docs` writes them into
 * `docs/configuration.md`.
 */
import { type Static, Type } from '@sinclair/typebox'
import { ClaimsSchema, GrantDatabasesSchema, PermissionsSchema, VERBS, RolesSchema } from './grants.ts'
import { DEFAULT_OPERATIONS, MAX_INCLUDE, MAX_OPERATIONS } from './limits.ts'
import { CallableSchema, REQUEST_NAME, RequestsSchema } from './requests.ts'
import { closed, Milliseconds, ServerSchema } from './server-settings.ts'

// The setting `jwt`: the issuers of accepted JSON Web Tokens, and how these are verified.

/** The signature algorithms of RFC 7518 and RFC 8037. `none` is not one of them. */
const SIGNATURE_ALGORITHMS = [
  'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519', 'HS256',
  'HS384', 'HS512'
] as const
export type SignatureAlgorithm = typeof SIGNATURE_ALGORITHMS[number]

const text = { minLength: 1 }

export const JwtSchema = Type.Object({
  issuer: Type.String({ ...text, description: 'value of the claim "iss"' }),
  audience: Type.Union([Type.String(text), Type.Array(Type.String(text), { minItems: 1 })], {
    description: 'value of the claim "aud", or a list of accepted values'
  }),
  jwks: Type.Optional(
    Type.String({ ...text, description: 'URL of a JSON Web Key Set, https://… or http://… on a loopback address' })
  ),
  publicKey: Type.Optional(
    Type.String({ ...text, description: 'path of a public key or certificate in PEM format, instead of jwks' })
  ),
  secret: Type.Optional(
    Type.String({ ...text, description: 'secret for the algorithms HS256, HS384 and HS512, instead of jwks' })
  ),
  algorithms: Type.Array(Type.Union(SIGNATURE_ALGORITHMS.map((name) => Type.Literal(name))), {
    minItems: 1,
    uniqueItems: true,
    description: `accepted algorithms: one or more of ${SIGNATURE_ALGORITHMS.join(', ')}`
  }),
  role: Type.String({
    pattern: '^(/([^~/]|~[01])*)+$',
    description: 'a JSON Pointer to the claim that has the role or a list of roles, such as /role'
  })
}, closed)

export type JwtOptions = Static<typeof JwtSchema>

// The setting `mcp`: tools for language models, by the Model Context Protocol.

export const McpSchema = Type.Partial(Type.Object({
  // strings with a pattern, so that an environment variable can set the list
  verbs: Type.Array(
    Type.String({ pattern: `^(${VERBS.join('|')})$`, description: VERBS.join(', ').replace(/, (?=[^,]*$)/, ' or ') }),
    {
      uniqueItems: true,
      default: ['select'],
      description: `verbs that are tools, of ${VERBS.join(', ')}; none only beside named requests; a token never has ` +
        'more than its permissions'
    }
  ),
  requests: Type.Union([Type.Literal('*'), Type.Array(Type.String({ pattern: REQUEST_NAME }), { uniqueItems: true })], {
    description: 'named requests that are tools: "*", or a list of names; default: those that only select'
  }),
  resultLimit: Type.Integer({
    minimum: 4096,
    maximum: 1_073_741_824,
    default: 262_144,
    description: 'maximum size of the result of a tool, in bytes'
  }),
  url: Type.String({
    pattern: '^https?://[^\\s?#]+$',
    description:
      'URL at which clients reach the tools, such as https://rows.example.com/api/mcp; with jwt, metadata for ' +
      'OAuth name it'
  })
}), {
  ...closed,
  description: 'serves tools for language models at {prefix}/mcp, by the Model Context Protocol; {} for the defaults'
})

export type McpOptions = Static<typeof McpSchema>

const Name = Type.String({ pattern: '^[A-Za-z0-9_.-]{1,64}$' })

export const PoolSchema = Type.Partial(Type.Object({
  size: Type.Integer({ minimum: 1, maximum: 1000, default: 10, description: 'maximum number of connections' }),
  queue: Type.Integer({
    minimum: 1,
    maximum: 100_000,
    default: 500,
    description: 'maximum number of requests that wait for a connection'
  }),
  wait: Milliseconds(5000, 'how long a request may wait for a connection'),
  idleTimeout: Milliseconds(60_000, 'how long a connection may be idle before it is closed'),
  minimum: Type.Integer({
    minimum: 0,
    maximum: 1000,
    default: 0,
    description: 'number of connections that are kept open when idle'
  })
}), { ...closed, default: {}, description: 'the connections to each server of the database' })

export const DatabaseSchema = Type.Object({
  url: Type.String({
    minLength: 1,
    description:
      'mysql://user:password@host:port/name (several hosts are separated by commas), mariadb://…, sqlite:path or ' +
      'sqlite::memory:'
  }),
  replicas: Type.Optional(Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    description: 'URLs of replicas, to which selects are sent'
  })),
  pool: Type.Optional(PoolSchema),
  statementTimeout: Type.Optional(Milliseconds(10_000, 'time limit for a statement; in a stream, for its first row')),
  streamTimeout: Type.Optional(Milliseconds(
    120_000,
    'time limit for a stream; until its end, statements that change the definition of its tables wait, and all ' +
    'that come after them'
  )),
  importTimeout: Type.Optional(
    Milliseconds(600_000, 'time limit for an import; statementTimeout is that of each of its statements')
  ),
  resultLimit: Type.Optional(Type.Integer({
    minimum: 1000,
    maximum: 1_073_741_824,
    default: 50_331_648,
    description: 'maximum size of an answer, in bytes'
  })),
  refreshInterval: Type.Optional(Milliseconds(60_000, 'interval at which the catalog is read again')),
  keyLifetime: Type.Optional(Type.Integer({
    minimum: 1000,
    maximum: 2_592_000_000,
    default: 86_400_000,
    description: 'how long the answer to a request with an idempotency key is kept, in milliseconds'
  })),
  setup: Type.Optional(Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    description: 'SQL statements that create and fill the tables of sqlite::memory:'
  }))
}, closed)

export const TokenSchema = Type.Object({
  name: Type.String({
    minLength: 1,
    maxLength: 100,
    description: 'unique name of the token, in logs and for idempotency keys'
  }),
  sha256: Type.String({
    pattern: '^[0-9a-f]{64}$',
    description: 'the SHA-256 of the token, as 64 lower-case hexadecimal digits'
  }),
  permissions: Type.Optional(PermissionsSchema),
  databases: Type.Optional(Type.Union([Type.Literal('*'), GrantDatabasesSchema], {
    description:
      'databases for which the token is valid, each with "*", a list of tables or an object of tables; default: ' +
      'all databases and tables'
  })),
  requests: Type.Optional(CallableSchema),
  claims: Type.Optional(ClaimsSchema),
  expires: Type.Optional(
    Type.String({ description: 'expiry date, or date and time with an offset, such as 2027-01-01' })
  )
}, closed)

export const LimitsSchema = Type.Partial(Type.Object({
  filterDepth: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 32,
    description: 'maximum nesting depth of filters'
  }),
  filterConditions: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 256,
    description: 'maximum number of conditions in a request'
  }),
  filterValues: Type.Integer({
    minimum: 1,
    maximum: 65_535,
    default: 10_000,
    description: 'maximum number of values in all lists of a request'
  }),
  filterPattern: Type.Integer({
    minimum: 1,
    maximum: 65_535,
    default: 1000,
    description: 'maximum length of a pattern, in characters'
  }),
  offset: Type.Integer({
    minimum: 0,
    maximum: 1_000_000_000,
    default: 100_000,
    description: 'maximum number of rows that the field offset of a select may skip'
  }),
  include: Type.Partial(Type.Object({
    levels: Type.Integer({
      minimum: 0,
      maximum: MAX_INCLUDE.levels,
      default: 3,
      description: 'maximum number of levels of include, $some and $none together; 0 refuses them'
    }),
    members: Type.Integer({
      minimum: 0,
      maximum: MAX_INCLUDE.members,
      default: 10,
      description: 'maximum number of members of include, on all levels together; 0 refuses it'
    })
  }), { ...closed, default: {}, description: 'the field include of a select' }),
  changed: Type.Integer({
    minimum: 1,
    maximum: 1_000_000_000,
    description: 'maximum number of rows that one update or delete may match; no limit by default'
  }),
  operations: Type.Integer({
    minimum: 1,
    maximum: MAX_OPERATIONS,
    default: DEFAULT_OPERATIONS,
    description: 'maximum number of operations in one transaction'
  }),
  streams: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 2,
    description:
      'maximum number of streams of each caller that run at a time on a database, at most a quarter of ' +
      'pool.size; of all callers four times as many, at most half of pool.size; at least one of both; further ' +
      'ones are refused with 503'
  }),
  streamRows: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER - 1,
    description: 'maximum number of rows of a stream; no limit by default'
  }),
  imports: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 1,
    description:
      'maximum number of imports of each caller that run at a time on a database, and of all callers four times ' +
      'as many, one on SQLite; streams and imports together have the bounds by pool.size of streams; further ' +
      'ones are refused with 503'
  }),
  importRow: Type.Integer({
    minimum: 1000,
    maximum: 1_073_741_824,
    default: 16_777_216,
    description: 'maximum size of a row of an import, in bytes'
  }),
  importRows: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER - 1,
    description: 'maximum number of rows of an import; no limit by default'
  }),
  answerMemory: Type.Integer({
    minimum: 2_097_152,
    maximum: 1_099_511_627_776,
    default: 67_108_864,
    description:
      'maximum size of all answers that are being built or sent, in bytes; further requests are refused with 503'
  }),
  bodyMemory: Type.Integer({
    minimum: 4_194_304,
    maximum: 1_099_511_627_776,
    default: 134_217_728,
    description:
      'maximum memory of all request bodies that are not answered yet, in bytes; further requests are refused ' +
      'with 503'
  })
}), { ...closed, default: {}, description: 'limits of requests and answers' })

export const RateLimitSchema = Type.Object({
  max: Type.Integer({ minimum: 1, description: 'maximum number of requests of a token in a window' }),
  window: Type.Optional(Milliseconds(60_000, 'length of the window'))
}, { ...closed, description: 'limits the requests of each token' })

export const FailedLoginsSchema = Type.Partial(Type.Object({
  max: Type.Integer({
    minimum: 0,
    default: 30,
    description:
      'maximum number of requests with an invalid token from an address in a window; the address is then blocked ' +
      'until the window ends; 0 for no limit'
  }),
  window: Milliseconds(60_000, 'length of the window')
}), { ...closed, default: {}, description: 'blocks addresses that send too many invalid tokens' })

const CorsSchema = Type.Object({
  origins: Type.Array(
    Type.String({
      pattern: '^(\\*|https?://[^/\\s]+)$',
      description: 'an origin such as https://app.example.com, or "*"'
    }),
    {
      minItems: 1,
      description:
        'origins that may send requests from a browser, such as https://app.example.com; "*" for all origins'
    }
  )
}, { ...closed, description: 'allows requests from pages of other origins' })

const Url = Type.String({ pattern: '^https?://[^\\s]+$' })
const describe = <T extends ReturnType<typeof Type.String>>(schema: T, description: string): T => ({
  ...schema,
  description
})

export const OpenapiInfoSchema = Type.Partial(Type.Object({
  title: Type.String({
    minLength: 1,
    default: 'Row Query',
    description: 'title of the document of the interface; followed by the name of the database in the others'
  }),
  description: Type.String({
    description: 'description of the documents, in Markdown; default: what requests and answers have in common'
  }),
  version: Type.String({ minLength: 1, default: '1.0.0', description: 'version of the described interface' }),
  termsOfService: describe(Url, 'URL of the terms of service'),
  license: Type.Object({
    name: Type.String({ minLength: 1, description: 'name of the licence for those who use the interface' }),
    identifier: Type.Optional(Type.String({ minLength: 1, description: 'SPDX identifier of the licence' })),
    url: Type.Optional(describe(Url, 'URL of the licence; not together with identifier'))
  }, { ...closed, description: 'licence of the interface' }),
  contact: Type.Partial(Type.Object({
    name: Type.String({ minLength: 1, description: 'whom to ask' }),
    url: describe(Url, 'URL of a page with contact information'),
    email: Type.String({ pattern: '^[^@\\s]+@[^@\\s]+$', description: 'email address' })
  }), { ...closed, description: 'contact for questions about the interface' }),
  servers: Type.Array(
    Type.Object({
      url: Type.String({
        minLength: 1,
        description: 'base URL of the service with its prefix, such as https://rows.example.com/api'
      }),
      description: Type.Optional(Type.String({ description: 'what the address is for' }))
    }, closed),
    { minItems: 1, description: 'addresses of the service; default: its prefix' }
  )
}), { ...closed, description: 'title, licence, contact and servers of the OpenAPI documents' })

export const OptionsSchema = Type.Object({
  databases: Type.Record(Name, DatabaseSchema, {
    additionalProperties: false,
    minProperties: 1,
    description: 'the databases by name; a name has 1 to 64 letters, digits, _, . and -'
  }),
  tokens: Type.Optional(Type.Array(TokenSchema, {
    default: [],
    description: 'the valid tokens and their permissions; without tokens, all requests are refused'
  })),
  tokensFile: Type.Optional(Type.String({
    minLength: 1,
    description: 'path of a JSON file with a list of further tokens; changes take effect within a second'
  })),
  jwt: Type.Optional(Type.Array(JwtSchema, {
    default: [],
    description: 'the issuers whose JWTs are accepted as tokens; requires roles'
  })),
  roles: Type.Optional(RolesSchema),
  requests: Type.Optional(RequestsSchema),
  bodyLimit: Type.Optional(
    Type.Integer({ minimum: 1, default: 1_048_576, description: 'maximum size of a request body, in bytes' })
  ),
  limits: Type.Optional(LimitsSchema),
  rateLimit: Type.Optional(RateLimitSchema),
  failedLogins: Type.Optional(FailedLoginsSchema),
  cors: Type.Optional(CorsSchema),
  mcp: Type.Optional(McpSchema),
  openapi: Type.Optional(Type.Union([Type.Literal('token'), Type.Literal('public'), Type.Literal('off')], {
    default: 'token',
    description:
      'access to the OpenAPI documents: token shows each token what it may do, public shows everything to ' +
      'everybody, off disables them'
  })),
  openapiInfo: Type.Optional(OpenapiInfoSchema),
  docs: Type.Optional(Type.Boolean({ default: false, description: 'whether an HTML page shows and changes rows' })),
  tracing: Type.Optional(
    Type.Boolean({ default: true, description: 'whether requests are traced if OpenTelemetry is set up' })
  ),
  serverTiming: Type.Optional(
    Type.Boolean({ default: false, description: 'whether answers have a Server-Timing header' })
  ),
  requestLog: Type.Optional(Type.Boolean({ default: false, description: 'whether each request is logged' })),
  metrics: Type.Optional(Type.Boolean({ default: false, description: 'whether metrics are collected' }))
}, closed)

/** The configuration file. A setting that both the plugin and the server have takes the form of the server. */
export const ConfigSchema = Type.Composite(
  [Type.Omit(OptionsSchema, Object.keys(ServerSchema.properties) as Array<'requestLog' | 'metrics'>), ServerSchema],
  closed
)

export type RowQueryOptions = Static<typeof OptionsSchema>
export type OpenapiInfo = Static<typeof OpenapiInfoSchema>
export type Config = Static<typeof ConfigSchema>
export type DatabaseOptions = Static<typeof DatabaseSchema>
export type TokenOptions = Static<typeof TokenSchema>
