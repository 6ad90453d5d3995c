import { createHmac } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hashToken } from '../../src/access/tokens.ts'
import { TOKEN } from '../contenders/apis.ts'
import { DATABASE } from '../contenders/contenders.ts'
import type { Stage } from '../contenders/contender.ts'
import { serviceContender } from '../contenders/service.ts'
import type { Effort } from '../measure/rounds.ts'
import type { GrowthResult } from '../report/results.ts'
import { byKey, TABLE_SIZE } from '../workloads.ts'
import { measureConditions } from './conditions.ts'

const SECRET = 'a-secret-for-measurements-0123456789'
const ISSUER = 'https://login.example.com/'
const RULED_TOKEN = `${TOKEN}-with-a-rule`

const all = { permissions: ['select'], databases: '*' }
/** Every row satisfies the rule, so that all conditions return the same rows. */
const ruled = { permissions: ['select'], databases: { [DATABASE]: { orders: { rows: { quantity: { $gte: { $claim: '/least' } } } } } } }

/** The cost of a JWT that is remembered, and of a rule on rows, against a configured token. */
export function measureGrants (stage: Stage, effort: Effort): Promise<GrowthResult> {
  const env = { LOG_LEVEL: 'warn', ROW_QUERY_CONFIG: writeConfig() }
  const tokens = { 'a token': TOKEN, 'a JWT': signJwt('all'), 'a token with a rule': RULED_TOKEN, 'a JWT with a rule': signJwt('ruled') }
  const entries = Object.entries(tokens).map(([name, token]) => ({ name, contender: serviceContender(DATABASE, env, token), stage, workload: byKey(TABLE_SIZE) }))
  return measureConditions({ title: 'Authentication (row by key)', what: 'with', entries }, effort)
}

function writeConfig (): string {
  const path = join(mkdtempSync(join(tmpdir(), 'row-query-bench-')), 'row-query.json')
  writeFileSync(path, JSON.stringify({
    tokens: [{ name: 'ruled', sha256: hashToken(RULED_TOKEN), claims: { least: 0 }, ...ruled }],
    jwt: [{ issuer: ISSUER, audience: 'rows', secret: SECRET, algorithms: ['HS256'], role: '/role' }],
    roles: { all, ruled }
  }))
  return path
}

/** A token of the usual length, with claims that the service does not use. */
function signJwt (role: string): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { iss: ISSUER, aud: 'rows', exp: 4_000_000_000, sub: '0123456789abcdef', role, least: 0, name: 'Zoë Example-Sørensen', email: 'zoe@example.com', scope: 'openid profile email', jti: 'fedcba9876543210' }
  const text = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`
  return `${text}.${createHmac('sha256', SECRET).update(text).digest('base64url')}`
}
