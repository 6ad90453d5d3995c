/** What the OpenAPI document of a database says about one of its tables. */

/** How values of a column are entered and shown; `scalar`: a text, number or boolean inside a JSON column. */
export type Kind = 'boolean' | 'integer' | 'number' | 'decimal' | 'text' | 'list' | 'json' | 'scalar'

export interface Column {
  readonly name: string
  /** As it is declared in SQL. */
  readonly type: string
  readonly kind: Kind
  readonly isNullable: boolean
  readonly isKey: boolean
  readonly isGenerated: boolean
  readonly isAutoIncrement: boolean
  /** An insert needs it. */
  readonly isRequired: boolean
  readonly isInsertable: boolean
  readonly isUpdatable: boolean
  readonly isSortable: boolean
  readonly default: unknown
  /** The members of an ENUM or a SET. */
  readonly members: readonly string[] | undefined
  readonly operators: readonly string[]
  /** Those of values at paths inside a JSON column. */
  readonly pathOperators: readonly string[]
  /** Whether filters, and whether data, take `{"$now": …}`. */
  readonly takesNow: { readonly filters: boolean, readonly data: boolean }
  /** Whether an update takes `{"$default": true}`. */
  readonly takesDefault?: boolean
  /** The operators whose operand may be `{"$column": …}`. */
  readonly columnOperators?: readonly string[]
  readonly description: string
  readonly references: { readonly table: string, readonly column: string } | undefined
  /** The greatest integer, where the document says one. */
  readonly maximum?: number | undefined
  /** Whether rows have it only if a request names it. */
  readonly isInvisible?: boolean
  /** Whether its values are bytes in base64. */
  readonly isBytes: boolean
  /** Whether its input has several lines. */
  readonly isLong?: boolean
}

/** Rows of another table, or of the same one, that belong to a row. */
export interface Relation {
  /** Name of the member in `include`. */
  readonly name: string
  readonly table: string
  /** Column of this table to column of the other one. */
  readonly on: ReadonlyArray<readonly [own: string, other: string]>
  readonly isMany: boolean
  /** Whether the foreign key is of the other table. */
  readonly isReferring: boolean
  /** Whether `include` finds `on` by itself. */
  readonly isOnly: boolean
}

export interface Table {
  readonly name: string
  readonly path: string
  readonly comment: string
  readonly verbs: readonly Verb[]
  readonly columns: readonly Column[]
  readonly primaryKey: readonly string[]
  readonly relations: readonly Relation[]
  /** The columns of other tables that name the rows which this one refers to. */
  readonly shownNames: () => ReadonlyArray<{ readonly relation: Relation, readonly column: string, /** Whether it takes `$case`. */ readonly hasCase: boolean }>
  /** The keys by which an insert finds rows that are there. */
  readonly conflictKeys: ReadonlyArray<readonly string[]>
  readonly isView: boolean
  /** The columns of each full-text index, and how its words can be searched. */
  readonly indexes: ReadonlyArray<readonly string[]>
  readonly matchModes: readonly string[]
  /** Whether pages can begin behind a position. */
  readonly hasPositions: boolean
  /** Function of an aggregate to the columns that it takes. */
  readonly aggregates: ReadonlyMap<string, readonly string[]>
  /** Part of time to the columns that have it. */
  readonly parts: ReadonlyMap<string, readonly string[]>
  /** An example of each request, which can be sent. */
  readonly examples: ReadonlyMap<string, any>
  /** Beginning of the names of its schemas. */
  readonly schemaName: string
}

/** The column whose name says that it names a row. */
export function nameColumn ({ columns }: Pick<Table, 'columns'>): Column | undefined {
  const texts = columns.filter(({ kind, members }) => kind === 'text' && members === undefined)
  return [/(^|_)(name|title|label)$/i, /(^|_)(email|login)$/i].map((pattern) => texts.find(({ name }) => pattern.test(name))).find((found) => found !== undefined)
}

export type Verb = 'select' | 'insert' | 'update' | 'delete'
export const VERBS: readonly Verb[] = ['select', 'insert', 'update', 'delete']

type Schema = any
interface ForeignKey { readonly columns: readonly string[], readonly referencedTable: string, readonly referencedColumns: readonly string[] }

/** A document, and its tables, which are read when they are needed. */
export interface DatabaseDocument {
  readonly name: string
  readonly document: any
  readonly tables: ReadonlyArray<{ readonly name: string, readonly path: string, readonly isView: boolean }>
  /** The path of operations in one transaction, if the token may run any. */
  readonly operationsPath: string | undefined
  table (name: string): Table | undefined
}

const REF = '#/components/schemas/'
const ENDING = /Request$/
const jsonOf = (part: any): any => part?.content?.['application/json']
export const schemaNameOf = (post: any): string => String(jsonOf(post.requestBody)?.schema.$ref).slice(REF.length).replace(ENDING, '')

/** The documents escape texts of the database for Markdown. */
export const plainText = (text = ''): string => text.replaceAll('&lt;', '<').replaceAll(']\\', ']')

export function readDocument (name: string, document: any): DatabaseDocument {
  const paths = Object.entries<any>(document.paths)
  const isTable = (path: string): boolean => path.split('/').length > 2
  const tables = paths.filter(([path]) => isTable(path)).map(([path, { post }]) => ({ name: String(post.tags[0]), path, post }))
  const views = new Set((document.tags as any[]).filter((tag) => tag['x-view'] === true).map(({ name }) => name))
  const byName = new Map(tables.map((table) => [table.name, table]))
  const schemaOf = (table: { readonly post: any }, ending: string): Schema => document.components.schemas[schemaNameOf(table.post) + ending]
  const keysOf = (table: { readonly post: any }): readonly ForeignKey[] => schemaOf(table, 'Row')?.['x-foreign-keys'] ?? []
  const known = new Map<string, Table>()
  /** The foreign keys of all tables by the table that they refer to. */
  const incoming = Map.groupBy(tables.flatMap((table) => keysOf(table).map((key) => ({ table: table.name, key }))), ({ key }) => key.referencedTable)
  const uniqueKeysOf = (table: string): ReadonlyArray<readonly string[]> => {
    const row = schemaOf(byName.get(table) as { post: any }, 'Row')
    return [row?.['x-primary-key'] ?? [], ...(row?.['x-unique-keys'] ?? []).map(({ columns }: { columns: string[] }) => columns)].filter((key) => key.length > 0)
  }
  const found: DatabaseDocument = {
    name,
    document,
    tables: tables.map(({ name, path }) => ({ name, path, isView: views.has(name) })),
    operationsPath: paths.find(([path]) => !isTable(path))?.[0],
    table (name) {
      const given = byName.get(name)
      if (given === undefined) return undefined
      let table = known.get(name)
      if (table === undefined) {
        const relations = () => relationsOf(name, { keys: keysOf(given), incoming: incoming.get(name) ?? [], tables: new Set(byName.keys()), uniqueKeysOf })
        known.set(name, table = readTable(given, { document, isView: views.has(name), relations, find: found.table }))
      }
      return table
    }
  }
  return found
}

interface Links {
  readonly keys: readonly ForeignKey[]
  readonly incoming: ReadonlyArray<{ readonly table: string, readonly key: ForeignKey }>
  readonly tables: ReadonlySet<string>
  uniqueKeysOf (table: string): ReadonlyArray<readonly string[]>
}

const isName = (name: string): boolean => /^[A-Za-z]\w{0,63}$/.test(name)

function relationsOf (table: string, { keys, incoming, tables, uniqueKeysOf }: Links): Array<Omit<Relation, 'name'> & { readonly hint: string, readonly base: string, readonly isAlone: boolean }> {
  const baseOf = (other: string, isMany: boolean): string => other !== table ? isName(other) ? other : 'related' : isMany ? 'children' : 'parent'
  const all = [
    ...keys.filter((key) => tables.has(key.referencedTable)).map((key) => ({ table: key.referencedTable, hint: key.columns.join('_'), on: key.columns.map((column, index) => [column, key.referencedColumns[index] as string] as const), isMany: false, isReferring: false })),
    ...incoming.map(({ table, key }) => {
      const on = key.columns.map((column, index) => [key.referencedColumns[index] as string, column] as const)
      return { table, hint: key.columns.join('_'), on, isReferring: true, isMany: !uniqueKeysOf(table).some((unique) => unique.every((column) => key.columns.includes(column))) }
    })
  ]
  // equal keys count once
  const found = [...new Map(all.map((relation) => [JSON.stringify([relation.table, relation.isReferring, [...relation.on].sort()]), relation])).values()]
  return found.map((relation) => ({ ...relation, base: baseOf(relation.table, relation.isMany), isAlone: found.filter((other) => other.table === relation.table && (relation.table !== table || other.isMany === relation.isMany)).length === 1, isOnly: relation.table !== table && found.filter((other) => other.table === relation.table).length === 1 }))
}

/** Names of members: the table, or parent and children of a row in the same one, with the columns of the key where there are several or the name is taken. */
function nameRelations (relations: ReturnType<typeof relationsOf>, columns: ReadonlySet<string>): Relation[] {
  const taken = new Set(columns)
  return relations.map(({ hint, base, isAlone, ...relation }) => {
    // a row of the same table is called as its key, not `parent_by_parent`
    const own = base === 'parent' ? [hint.replace(/_id$/i, ''), `${hint}_row`] : []
    const candidates = [...isAlone ? [base] : [], ...own, `${base}_by_${hint}`, ...Array.from({ length: 99 }, (_, index) => `${base}_${index + 2}`)]
    const name = candidates.find((candidate) => isName(candidate) && !taken.has(candidate)) ?? base
    taken.add(name)
    return { ...relation, name }
  })
}

function readTable ({ name, path, post }: { readonly name: string, readonly path: string, readonly post: any }, { document, isView, relations: findRelations, find }: { document: any, isView: boolean, relations: () => ReturnType<typeof relationsOf>, find: DatabaseDocument['table'] }): Table {
  const { schemas } = document.components
  const schemaName = schemaNameOf(post)
  const schema = (ending: string): Schema => schemas[schemaName + ending]
  const follow = (found: Schema): Schema => found?.$ref === undefined ? found : follow(schemas[found.$ref.slice(REF.length)])
  const variants = (found: Schema): Schema[] => [follow(found)].flatMap((each) => each?.anyOf ?? each?.oneOf ?? [each]).filter(Boolean)
  const [row, insert, update, filters, position, aggregate, part] = ['Row', 'Insert', 'Update', 'Filters', 'Position', 'Aggregate', 'Part'].map(schema)
  const propertiesOf = (found: Schema): Map<string, Schema> => new Map(Object.entries(found?.properties ?? {}))
  const [rows, inserted, updated, filtered] = [row, insert, update, filters].map(propertiesOf) as [Map<string, Schema>, Map<string, Schema>, Map<string, Schema>, Map<string, Schema>]
  const positions = propertiesOf(position)
  const primaryKey: readonly string[] = row?.['x-primary-key'] ?? []
  const has = (found: Schema, name: string): boolean => variants(found).some((each) => each.$ref === REF + name)
  const hasNow = (found: Schema): boolean => has(found, 'Now')
  const columnOperatorsOf = (filter: Schema): string[] => [...new Set(variants(filter).flatMap((each) => Object.entries(each.properties ?? {}).filter(([, operand]) => has(operand, 'OtherColumn')).map(([operator]) => operator)))]

  const readColumn = (column: string): Column => {
    const shown = rows.get(column) ?? inserted.get(column) ?? updated.get(column)
    const given = [inserted, updated].flatMap((properties) => variants(properties.get(column)))
    const filter = filtered.get(column.startsWith('$') ? `$${column}` : column)
    // JSON has no variants: its operators are in the part of the schema that excludes others
    const operators = [...new Set([...variants(filter), follow(filter)?.not?.not].flatMap((each) => Object.keys(each?.properties ?? {})).filter((key) => key.startsWith('$') && key !== '$now'))]
    const types = variants(shown).flatMap((each) => each.type ?? [])
    return {
      name: column,
      type: shown['x-sql-type'] ?? '',
      kind: variants(shown).some(({ format }) => format === 'decimal') ? 'decimal' : kindOf(types, [...types, ...given.flatMap((each) => each.type ?? [])]),
      isNullable: types.includes('null') || operators.includes('$null'),
      isKey: primaryKey.includes(column),
      isGenerated: shown.readOnly === true,
      isAutoIncrement: shown['x-auto-increment'] === true,
      isRequired: insert?.required?.includes(column) === true,
      isInsertable: inserted.has(column),
      isUpdatable: updated.has(column),
      isSortable: position === undefined || positions.has(column),
      default: inserted.get(column)?.['x-default'],
      members: variants(shown).map((each) => each.enum ?? each.items?.enum).find(Boolean)?.filter((member: unknown) => member !== null),
      operators,
      pathOperators: Object.keys(follow(filter)?.not?.not?.properties?.$at?.additionalProperties.anyOf.at(-1).properties ?? {}),
      takesNow: { filters: hasNow(filter), data: given.some((each) => each.$ref === `${REF}Now`) },
      takesDefault: has(updated.get(column), 'Default'),
      columnOperators: columnOperatorsOf(filter),
      description: plainText(shown.description),
      references: shown['x-references'],
      maximum: variants(shown).find((each) => each.maximum !== undefined)?.maximum,
      isInvisible: shown['x-invisible'] === true,
      isBytes: variants(shown).some((each) => each.contentEncoding === 'base64' || each.format === 'byte')
    }
  }

  const match = filtered.get('$match')?.properties
  const columns = [...new Set([...rows.keys(), ...inserted.keys(), ...updated.keys()])].map(readColumn)
  const relations = nameRelations(findRelations(), new Set(rows.keys()))
  const shownNames = (): ReturnType<Table['shownNames']> => relations.flatMap((relation) => {
    const other = relation.isReferring || relation.on.length > 1 ? undefined : find(relation.table)
    const column = other?.verbs.includes('select') === true ? nameColumn(other) : undefined
    return column === undefined || !column.operators.includes('$contains') ? [] : [{ relation, column: column.name, hasCase: column.operators.includes('$case') }]
  })
  return {
    name,
    path,
    comment: commentOf(post),
    verbs: VERBS.filter((verb) => schema(`${verb.replace(/^./, (letter) => letter.toUpperCase())}Request`) !== undefined),
    columns,
    primaryKey,
    relations,
    shownNames,
    // keys of one column share a choice
    conflictKeys: variants(schema('OnConflict')?.properties.key).flatMap(({ minItems, items }) => minItems === 1 ? items.enum.map((name: string) => [name]) : [items.enum]),
    isView,
    indexes: match === undefined ? [] : variants(match.columns).map(({ items }) => items.enum),
    matchModes: match?.mode.enum ?? [],
    hasPositions: position !== undefined,
    aggregates: new Map(Array.from(propertiesOf(aggregate), ([key, { enum: names }]): [string, readonly string[]] => [key, names ?? []]).filter(([key]) => key.startsWith('$'))),
    parts: new Map(Array.from(propertiesOf(part), ([key, { enum: names }]) => [key, names ?? []])),
    examples: new Map(Object.entries<any>(jsonOf(post.requestBody)?.examples ?? {}).map(([verb, { value }]) => [verb, value])),
    schemaName
  }
}

/** The comment of the table. With the method QUERY, the description ends in a paragraph about it. */
function commentOf (post: any): string {
  const paragraphs = plainText(post.description).split('\n\n')
  return (post['x-query'] === true ? paragraphs.slice(0, -1) : paragraphs).join('\n\n')
}

/** `shown`: the types of values in answers; `all`: also of those that are accepted. */
export function kindOf (shown: readonly string[], all: readonly string[]): Kind {
  if (all.includes('boolean')) return 'boolean'
  if (shown.includes('integer')) return 'integer'
  if (shown.includes('number')) return 'number'
  if (shown.includes('string')) return 'text'
  return shown.includes('array') ? 'list' : 'json'
}
