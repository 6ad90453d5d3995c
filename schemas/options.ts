/**
 * The options of the plugin and the configuration file, with their defaults. `npm run docs` writes them into
 * `docs/configuration.md`.
 */
import { type Static, Type } from '@sinclair/typebox'
import {
  CallableSchema, ClaimsSchema, GrantDatabasesSchema, MAX_REQUESTS, PermissionsSchema, REQUEST_NAME, REQUEST_NAME_RULE,
  RequestName, RolesSchema, VERBS
} from './grants.ts'
import { DEFAULT_OPERATIONS, MAX_INCLUDE, MAX_OPERATIONS } from './limits.ts'
import { closed, Milliseconds, OneOf, ServerSchema, Text, Whole } from './server-settings.ts'

// The setting `jwt`: the issuers of accepted JSON Web Tokens, and how these are verified.

/** The signature algorithms of RFC 7518 and RFC 8037. `none` is not one of them. */
const SIGNATURE_ALGORITHMS = [
  'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519', 'HS256',
  'HS384', 'HS512'
] as const
export type SignatureAlgorithm = typeof SIGNATURE_ALGORITHMS[number]

const NotEmpty = Type.String({ minLength: 1 })

export const JwtSchema = Type.Object({
  issuer: Text('value of the claim "iss"'),
  audience: Type.Union([NotEmpty, Type.Array(NotEmpty, { minItems: 1 })], {
    description: 'accepted value, or values, of the claim "aud"'
  }),
  jwks: Type.Optional(Text('URL of a JSON Web Key Set, https://… or http://… on a loopback address')),
  publicKey: Type.Optional(Text('path of a public key or certificate (PEM), instead of jwks')),
  secret: Type.Optional(Text('secret for HS256, HS384 and HS512, instead of jwks')),
  algorithms: Type.Array(OneOf(SIGNATURE_ALGORITHMS), {
    minItems: 1,
    uniqueItems: true,
    description: `one or more of ${SIGNATURE_ALGORITHMS.join(', ')}`
  }),
  role: Type.String({
    pattern: '^(/([^~/]|~[01])*)+$',
    description: 'a JSON Pointer to the claim with the role or roles, such as /role'
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
      description: `verbs that are tools, of ${VERBS.join(', ')}; [] only beside named requests`
    }
  ),
  requests: Type.Union([Type.Literal('*'), Type.Array(RequestName, { uniqueItems: true })], {
    description: 'named requests that are tools: names, or "*"; default: those that only select'
  }),
  resultLimit: Whole(4096, 1_073_741_824, 262_144, 'largest result of a tool, in bytes'),
  url: Type.String({
    pattern: '^https?://[^\\s?#]+$',
    description: 'URL of the tools, for OAuth, such as https://rows.example.com/api/mcp'
  })
}), {
  ...closed,
  description: 'tools for language models at {prefix}/mcp; {} for the defaults'
})

export type McpOptions = Static<typeof McpSchema>

// The setting `requests`: requests that the operator writes once, and that are called by name with parameters.

const MAX_PARAMETERS = 100
const DESCRIPTION = 2000

export const ParameterSchema = Type.Partial(Type.Object({
  description: Type.String({ maxLength: DESCRIPTION, description: 'what it means, for the documents and tools' }),
  optional: Type.Boolean({
    default: false,
    description: 'may be left out, with its condition or column'
  }),
  default: Type.Unknown({ description: 'value if left out: a value, a list, or {"$now": …}' }),
  maximum: Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'greatest value of a limit or offset'
  })
}), closed)

const NamedRequestSchema = Type.Object({
  description: Type.Optional(Type.String({
    maxLength: DESCRIPTION,
    description: 'what it does, for the documents and tools'
  })),
  database: Text('name of the database'),
  table: Type.Optional(Text('table of the body; without it, the body has operations')),
  as: Type.Optional(Text('role, with "for": "requests", whose rights it has; default: those of the caller')),
  maxAge: Type.Optional(Type.Integer({
    minimum: 1,
    maximum: 86_400,
    description: 'seconds for which a response to GET may be used again'
  })),
  parameters: Type.Optional(Type.Record(Type.String({ pattern: REQUEST_NAME }), ParameterSchema, {
    additionalProperties: false,
    maxProperties: MAX_PARAMETERS,
    description: `at most ${MAX_PARAMETERS} parameters by name: ${REQUEST_NAME_RULE}`
  })),
  body: Type.Object({}, {
    additionalProperties: true,
    description: 'body, with {"$param": "<name>"} in place of values'
  })
}, closed)

// build/option-types.ts reads the schemas of all types
export const RequestsSchema = Type.Record(Type.String({ pattern: REQUEST_NAME }), NamedRequestSchema, {
  additionalProperties: false,
  maxProperties: MAX_REQUESTS,
  description: `named requests at {prefix}/requests/{name}: ${REQUEST_NAME_RULE}`
})

export type RequestsOptions = Static<typeof RequestsSchema>
export type NamedRequestOptions = RequestsOptions[string]
export type ParameterOptions = Static<typeof ParameterSchema>

const Name = Type.String({ pattern: '^[A-Za-z0-9_.-]{1,64}$' })

export const PoolSchema = Type.Partial(Type.Object({
  size: Whole(1, 1000, 10, 'maximum number of connections'),
  queue: Whole(1, 100_000, 500, 'maximum requests that wait for one'),
  wait: Milliseconds(5000, 'time limit for waiting'),
  idleTimeout: Milliseconds(60_000, 'idle time before a connection is closed'),
  minimum: Whole(0, 1000, 0, 'connections kept open when idle')
}), { ...closed, default: {}, description: 'the connections to each server of the database' })

export const DatabaseSchema = Type.Object({
  url: Text(
    'mysql://user:password@host:port/name, mariadb://…, sqlite:path or sqlite::memory:; hosts separated by commas'
  ),
  replicas: Type.Optional(Type.Array(NotEmpty, {
    default: [],
    description: 'URLs of replicas, for selects'
  })),
  pool: Type.Optional(PoolSchema),
  statementTimeout: Type.Optional(Milliseconds(10_000, 'time limit for a statement, or the first row of a stream')),
  streamTimeout: Type.Optional(Milliseconds(120_000, 'time limit for a stream')),
  importTimeout: Type.Optional(Milliseconds(600_000, 'time limit for an import')),
  resultLimit: Type.Optional(Whole(1000, 1_073_741_824, 50_331_648, 'largest response, in bytes')),
  refreshInterval: Type.Optional(Milliseconds(60_000, 'interval between readings of the catalog')),
  keyLifetime: Type.Optional(
    Whole(1000, 2_592_000_000, 86_400_000, 'lifetime of responses to idempotency keys, in milliseconds')
  ),
  setup: Type.Optional(Type.Array(NotEmpty, {
    default: [],
    description: 'SQL that fills sqlite::memory:'
  }))
}, closed)

export const TokenSchema = Type.Object({
  name: Type.String({
    minLength: 1,
    maxLength: 100,
    description: 'unique name, in logs and for idempotency keys'
  }),
  sha256: Type.String({
    pattern: '^[0-9a-f]{64}$',
    description: 'the SHA-256 of the token, as 64 lower-case hexadecimal digits'
  }),
  permissions: Type.Optional(PermissionsSchema),
  databases: Type.Optional(Type.Union([Type.Literal('*'), GrantDatabasesSchema], {
    description: 'databases, each with "*", a list or an object of tables; default: "*"'
  })),
  requests: Type.Optional(CallableSchema),
  claims: Type.Optional(ClaimsSchema),
  expires: Type.Optional(
    Type.String({ description: 'a date such as 2027-01-01, or a date and time with an offset' })
  )
}, closed)

/** So many and one more, which is how a limit is tested, is an exact number. */
const AtLeastOne = (description: string) =>
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER - 1, description })

export const LimitsSchema = Type.Partial(Type.Object({
  filterDepth: Whole(1, 1000, 32, 'maximum depth of filters'),
  filterConditions: Whole(1, 10_000, 256, 'maximum conditions in a request'),
  filterValues: Whole(1, 65_535, 10_000, 'maximum values in all lists of a request'),
  filterPattern: Whole(1, 65_535, 1000, 'maximum length of a pattern, in characters'),
  offset: Whole(0, 1_000_000_000, 100_000, 'maximum offset of a select'),
  include: Type.Partial(Type.Object({
    levels: Whole(0, MAX_INCLUDE.levels, 3, 'maximum levels of include, $some and $none; 0 refuses them'),
    members: Whole(0, MAX_INCLUDE.members, 10, 'maximum members of include on all levels; 0 refuses it')
  }), { ...closed, default: {}, description: 'the field include of a select' }),
  changed: Type.Integer({
    minimum: 1,
    maximum: 1_000_000_000,
    description: 'maximum rows that an update or delete may match'
  }),
  operations: Whole(1, MAX_OPERATIONS, DEFAULT_OPERATIONS, 'maximum operations in a transaction'),
  streams: Whole(1, 1000, 2, 'maximum streams of a caller on a database; of all, four times as many'),
  streamRows: AtLeastOne('maximum rows of a stream'),
  imports: Whole(1, 1000, 1, 'maximum imports of a caller on a database; of all, four times as many, on SQLite one'),
  importRow: Whole(1000, 1_073_741_824, 16_777_216, 'largest row of an import, in bytes'),
  importRows: AtLeastOne('maximum rows of an import'),
  answerMemory: Whole(
    2_097_152, 1_099_511_627_776, 67_108_864, 'maximum memory of responses that are built or sent, in bytes'
  ),
  bodyMemory: Whole(
    4_194_304, 1_099_511_627_776, 134_217_728, 'maximum memory of request bodies without a response yet, in bytes'
  )
}), { ...closed, default: {}, description: 'limits of requests and responses' })

export const RateLimitSchema = Type.Object({
  max: Type.Integer({ minimum: 1, description: 'maximum requests of a token in a window' }),
  window: Type.Optional(Milliseconds(60_000, 'length of the window'))
}, { ...closed, description: 'limits the requests of each token' })

export const FailedLoginsSchema = Type.Partial(Type.Object({
  max: Type.Integer({
    minimum: 0,
    default: 30,
    description:
      'invalid tokens of an address in a window, after which it is blocked for the rest; 0 for no limit'
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
      description: 'origins such as https://app.example.com, or "*" for all'
    }
  )
}, { ...closed, description: 'allows requests of pages of other origins' })

const Url = (description: string) => Type.String({ pattern: '^https?://[^\\s]+$', description })

export const OpenapiInfoSchema = Type.Partial(Type.Object({
  title: Type.String({
    minLength: 1,
    default: 'Row Query',
    description: 'title; in the document of a database, followed by its name'
  }),
  description: Type.String({
    description: 'description in Markdown'
  }),
  version: Type.String({ minLength: 1, default: '1.0.0', description: 'version of the interface' }),
  termsOfService: Url('URL of the terms'),
  license: Type.Object({
    name: Text('its name'),
    identifier: Type.Optional(Text('its SPDX identifier')),
    url: Type.Optional(Url('its URL; not together with identifier'))
  }, { ...closed, description: 'licence' }),
  contact: Type.Partial(Type.Object({
    name: Text('whom to ask'),
    url: Url('URL of a page'),
    email: Type.String({ pattern: '^[^@\\s]+@[^@\\s]+$', description: 'email address' })
  }), { ...closed, description: 'contact for questions' }),
  servers: Type.Array(
    Type.Object({
      url: Text('URL with the prefix, such as https://rows.example.com/api'),
      description: Type.Optional(Type.String({ description: 'its purpose' }))
    }, closed),
    { minItems: 1, description: 'addresses of the service; default: its prefix' }
  )
}), { ...closed, description: 'head of the OpenAPI documents' })

export const OptionsSchema = Type.Object({
  databases: Type.Record(Name, DatabaseSchema, {
    additionalProperties: false,
    minProperties: 1,
    description: 'databases by name: 1 to 64 letters, digits, _, . and -'
  }),
  tokens: Type.Optional(Type.Array(TokenSchema, {
    default: [],
    description: 'tokens and their permissions'
  })),
  tokensFile: Type.Optional(Text('path of a JSON file with further tokens; changes apply within a second')),
  jwt: Type.Optional(Type.Array(JwtSchema, {
    default: [],
    description: 'issuers whose JWTs are accepted as tokens; requires roles'
  })),
  roles: Type.Optional(RolesSchema),
  requests: Type.Optional(RequestsSchema),
  bodyLimit: Type.Optional(
    Type.Integer({ minimum: 1, default: 1_048_576, description: 'largest request body, in bytes' })
  ),
  limits: Type.Optional(LimitsSchema),
  rateLimit: Type.Optional(RateLimitSchema),
  failedLogins: Type.Optional(FailedLoginsSchema),
  cors: Type.Optional(CorsSchema),
  mcp: Type.Optional(McpSchema),
  openapi: Type.Optional(OneOf(['token', 'public', 'off'], {
    default: 'token',
    description: 'documents: token shows what the token may do, public everything to everybody'
  })),
  openapiInfo: Type.Optional(OpenapiInfoSchema),
  docs: Type.Optional(Type.Boolean({ default: false, description: 'page that shows and changes rows' })),
  tracing: Type.Optional(
    Type.Boolean({ default: true, description: 'spans of requests, if OpenTelemetry is set up' })
  ),
  serverTiming: Type.Optional(
    Type.Boolean({ default: false, description: 'header Server-Timing in responses' })
  ),
  requestLog: Type.Optional(Type.Boolean({ default: false, description: 'log line for each request' })),
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
