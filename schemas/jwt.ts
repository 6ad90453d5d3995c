/** The setting `jwt`: the issuers of accepted JSON Web Tokens, and how these are verified. */
import { type Static, Type } from '@sinclair/typebox'
import { closed } from './server-settings.ts'

/** The signature algorithms of RFC 7518 and RFC 8037. `none` is not one of them. */
const SIGNATURE_ALGORITHMS = [
  'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519', 'HS256', 'HS384', 'HS512'
] as const
export type SignatureAlgorithm = typeof SIGNATURE_ALGORITHMS[number]

const text = { minLength: 1 }

export const JwtSchema = Type.Object({
  issuer: Type.String({ ...text, description: 'value of the claim "iss"' }),
  audience: Type.Union([Type.String(text), Type.Array(Type.String(text), { minItems: 1 })], {
    description: 'value of the claim "aud", or a list of accepted values'
  }),
  jwks: Type.Optional(Type.String({ ...text, description: 'URL of a JSON Web Key Set, https://… or http://… on a loopback address' })),
  publicKey: Type.Optional(Type.String({ ...text, description: 'path of a public key or certificate in PEM format, instead of jwks' })),
  secret: Type.Optional(Type.String({ ...text, description: 'secret for the algorithms HS256, HS384 and HS512, instead of jwks' })),
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
