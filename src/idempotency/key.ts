/** The header `Idempotency-Key`: the requests that may have one, and the comparison of requests. */
import { hash } from 'node:crypto'
import type { Rule, Table } from '../catalog/catalog.ts'
import { at, invalidBody, invalidIdempotencyKey, unsupported } from '../errors.ts'

/** The key of a request, as the client sent it. */
export interface RequestKey {
  readonly text: string
  /** SHA-256 of the bytes of the body. */
  readonly body: string
}

/** A key that a request reserves, as it is stored: hashes of 32 bytes. */
export interface Reservation {
  /** The hash of the key and its owner. */
  readonly key: Buffer
  /** The hash of the request. */
  readonly request: Buffer
}

/** Visible ASCII characters. */
const FORM = /^[\x21-\x7e]{1,255}$/

export interface KeyOptions {
  readonly header: unknown
  readonly bodyHash: string
  readonly dryRun: boolean
}

/** @throws INVALID_IDEMPOTENCY_KEY; INVALID_BODY with a dry run */
export function readKey ({ header, bodyHash, dryRun }: KeyOptions): RequestKey | undefined {
  if (header === undefined) return undefined
  if (typeof header !== 'string' || !FORM.test(header)) throw invalidIdempotencyKey()
  if (dryRun) throw at(['dryRun'], invalidBody('"dryRun" is not allowed with the header Idempotency-Key'))
  return { text: header, body: bodyHash }
}

export const hashBody = (bytes: Buffer): string => hash('sha256', bytes)

/** The caller that sends keys; other callers may use the same keys. `owner`: undefined for a JWT without a subject. */
export interface KeyOwner { readonly owner: string | undefined }

export interface ReservationOptions {
  readonly key: RequestKey
  readonly grant: KeyOwner
  readonly database: string
  /** The table of the path; undefined for several operations. */
  readonly path: string | undefined
  /** The tables that the request uses, as the grant sees them. */
  readonly tables: readonly Table[]
}

/** @throws NOT_SUPPORTED for a JWT without a subject */
export function createReservation ({ key, grant, database, path, tables }: ReservationOptions): Reservation {
  const { owner } = grant
  if (owner === undefined) throw unsupported('', 'A JWT without "sub" cannot use Idempotency-Key')
  return {
    key: digest([owner, key.text]),
    request: digest([database, path ?? null, key.body, tables.map(describe)])
  }
}

const digest = (parts: unknown): Buffer => hash('sha256', JSON.stringify(parts, (_key, value: unknown) => typeof value === 'bigint' ? `${value}n` : value), 'buffer')

/** Describes what a grant allows on a table: the columns that it sees and may write, and its rules with their values. */
function describe ({ name, columns, granted }: Table): unknown {
  if (granted === undefined) return name
  const { writable, rules, parents } = granted
  const values = (each: readonly Rule[] = []): unknown => each.map(({ column, tests }) => [column.name, tests])
  const referred = parents.map(({ key, rules: rulesOf }) => [key.name, tryRules(rulesOf, values)])
  return [name, [...columns.keys()], [...writable.insert.keys()], [...writable.update.keys()], values(rules), referred]
}

/** Ignores missing claims, because a table may be used without those that a referenced table needs. */
function tryRules (rulesOf: () => readonly Rule[] | undefined, values: (rules: readonly Rule[] | undefined) => unknown): unknown {
  try {
    return values(rulesOf())
  } catch {
    return null
  }
}
