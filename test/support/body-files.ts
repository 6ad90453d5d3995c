/**
 * Golden files of bodies (test/plan/bodies/*.txt): what the planner makes of a body on each server, or how it refuses
 * it. A file has tables (described-tables.ts), then sections. A section begins with its promise behind `#`, and has
 * bodies without their verb, which stands before them with the table, and their outcomes (golden-bodies.ts). `body` is
 * a text as it is sent. Lines `grant …` and `limits …` are for the rest of the section.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Body } from '../../schemas/body.ts'
import { accessTo, authorize } from '../../src/access/authorize.ts'
import { createGrant, type Grant } from '../../src/access/grant.ts'
import type { Catalog, TableSource } from '../../src/catalog/catalog.ts'
import type { Database } from '../../src/databases/database.ts'
import { ServiceError } from '../../src/errors.ts'
import type { PlanLimits } from '../../src/plan/limits.ts'
import { createBodyCheck, parseBody } from '../../src/request/check-body.ts'
import { createPlan } from '../../src/verbs/index.ts'
import { VERBS } from '../../schemas/grants.ts'
import { describedCatalog, SERVERS, type ServerName } from './described-tables.ts'
import { bodiesOf, joined, linesOfEntries, ShownErrors } from './golden-bodies.ts'
import { planText } from './plan-text.ts'
import { LIMITS } from './sql.ts'

export const FOLDER = join(import.meta.dirname, '../plan/bodies')
export const DEFAULTS = { ...LIMITS, include: { levels: 3, members: 10 } }

export interface Settings { readonly grant: Grant, readonly limits: PlanLimits & typeof DEFAULTS }

function planOf (catalog: Catalog, verb: string, table: string, text: string, { grant, limits }: Settings): string {
  const whole = verb === 'body' ? text : text.replace('{', `{"verb":"${verb}"${text === '{}' ? '' : ','}`)
  const body = parseBody(whole)
  const error = createBodyCheck(limits)(body)
  if (error !== undefined) {
    throw limits === DEFAULTS ? new Error(`Invalid for any table, so for test/request/refusals.txt: ${whole}`) : error
  }
  const database = { name: 'shop', catalog } as unknown as Database
  const source = authorize(accessTo(database, grant, table), body as Body, limits) as TableSource
  return planText(createPlan(body as Body, source, limits))
}

/** The plan of a body without its verb, or how it is refused. */
export function outcomeOf (errors: ShownErrors, ...args: Parameters<typeof planOf>): string {
  try {
    return planOf(...args)
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    return errors.textOf(error)
  }
}

/** One line if all servers agree, otherwise a line for each outcome behind the names of its servers. */
function outcomesOf (errors: ShownErrors, outcomes: ReadonlyMap<ServerName, string>): string[] {
  const byOutcome = Map.groupBy(outcomes.keys(), (server) => outcomes.get(server) as string)
  return Array.from(byOutcome, ([outcome, servers]) =>
    `${byOutcome.size === 1 ? '' : `${servers.join(', ')}: `}${errors.show(outcome)}`)
}

export const everything = createGrant('test', { permissions: [...VERBS] })

export interface Section { readonly name: string, readonly found: string, readonly expected: string }

const BODY = /^(body|select|insert|update|delete) (\S+) (.*)$/s

/** The sections of a file as it is, and as the planner has it now; the first are its tables. */
export function readSections (file: string): Section[] {
  const [tables = '', ...sections] = readFileSync(join(FOLDER, file), 'utf8').split(/^(?=# )/m)
  const errors = new ShownErrors()
  const catalogs = new Map(SERVERS.map((server) => [server, describedCatalog(tables, server)]))
  return [{ name: 'tables', found: tables, expected: tables }, ...sections.map((found): Section => {
    let settings: Settings = { grant: everything, limits: DEFAULTS }
    const bodies = bodiesOf(found.trimEnd())
    const expected = linesOfEntries(bodies.map((body): [string, string[]] => {
      const [, setting, value = ''] = /^(grant|limits) (.*)$/.exec(joined(body)) ?? []
      if (setting === 'limits') settings = { ...settings, limits: { ...DEFAULTS, ...JSON.parse(value) } }
      if (setting === 'grant') {
        const { permissions = [...VERBS], claims = {}, tables } = JSON.parse(value)
        settings = { ...settings, grant: createGrant('test', { permissions, claims, databases: { shop: tables } }) }
      }
      const [, verb, table = '', text = ''] = BODY.exec(joined(body)) ?? []
      if (verb === undefined) return [body, []]
      return [body, outcomesOf(errors, new Map(Array.from(catalogs, ([server, catalog]) =>
        [server, outcomeOf(errors, catalog, verb, table, text, settings)] as const)))]
    }))
    const end = found.endsWith('\n\n') ? '\n\n' : '\n'
    return { name: bodies[0]?.slice(2) ?? '', found, expected: expected.join('\n') + end }
  })]
}

export const bodyFiles = (): string[] => readdirSync(FOLDER).filter((name) => name.endsWith('.txt'))
