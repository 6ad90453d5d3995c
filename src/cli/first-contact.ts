/** What `row-query serve` prints for configured databases: their addresses and tables, and a request to try. */
import { permissionsOn, type Grant } from '../access/grant.ts'

/** Maximum number of databases and of tables of each that are printed. */
const MAX_DATABASES = 10
const MAX_TABLES = 10

/** The tables of each database; undefined while they are not known. */
export type Tables = ReadonlyMap<string, readonly string[] | undefined>

export interface FirstContact {
  readonly address: string
  readonly prefix: string
  readonly tables: Tables
  /** The grants of the configured tokens. */
  readonly grants: readonly Grant[]
  /** Whether the docs page is enabled. */
  readonly docs: boolean
}

/** The text contains no token: its request takes the token from the variable API_TOKEN of the shell. */
export function describeFirstContact ({ address, prefix, tables, grants, docs }: FirstContact): string {
  const base = `${address}${prefix}`
  const addresses = Array.from(tables, ([database, names]) => `${base}/${encodeURIComponent(database)}/${describeTables(names)}`)
  const more = addresses.length - MAX_DATABASES
  const lines = addresses.slice(0, MAX_DATABASES).map((line, index) => `${index === 0 ? '  address  ' : '           '}${line}\n`)
  const example = findExample(tables, grants)
  return `
${lines.join('')}${more > 0 ? `           and ${more} more databases\n` : ''}${docs ? `  page     ${base}/docs\n` : ''}${example === undefined ? '' : describeExample(example, base)}
`
}

/** `{customers,orders}`. In paths, names are percent-encoded. */
function describeTables (names: readonly string[] | undefined): string {
  if (names === undefined) return '{table}  (the database has not answered yet)'
  const shown = names.slice(0, MAX_TABLES).map(encodeURIComponent).join(',')
  if (names.length === 0) return '{table}  (there are no tables)'
  return names.length > MAX_TABLES ? `{${shown},…}  (${names.length} tables)` : `{${shown}}`
}

interface Example { readonly grant: Grant, readonly database: string, readonly table: string }

/** The first table from which a token may select. */
function findExample (tables: Tables, grants: readonly Grant[]): Example | undefined {
  for (const grant of grants) {
    for (const [database, names = []] of tables) {
      const table = names.find((name) => permissionsOn(grant, database, name).has('select'))
      if (table !== undefined) return { grant, database, table }
    }
  }
  return undefined
}

function describeExample ({ grant, database, table }: Example, base: string): string {
  // encodeURIComponent does not encode the quote, which would end the string of the shell
  const path = [database, table].map((name) => encodeURIComponent(name).replaceAll("'", '%27')).join('/')
  return `  token    that of ${JSON.stringify(grant.name)}; export it as API_TOKEN before you run this command

Try it:

  curl -s '${base}/${path}' -H "Authorization: Bearer $API_TOKEN" -H 'Content-Type: application/json' -d '{"verb":"select","limit":3}'
`
}
