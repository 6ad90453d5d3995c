/**
 * Writes docs/internals/ways-of-writing.md (`npm run docs`): the plans of writes to tables of each kind, with the way that src/plan/writes.ts decides and the
 * reason for it.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Body } from '../schemas/body.ts'
import { alone, type Column, createCatalog, type Index, type Table, type TableFacts, type Trigger } from '../src/catalog/catalog.ts'
import { whyNumbersApart } from '../src/plan/insert-key.ts'
import { whyRepeatable } from '../src/plan/write-options.ts'
import type { InsertPlan, KeyedUpdates, Plan, PlannedRow, UpdatePlan } from '../src/plan/plan.ts'
import { UPSERT_RULES, wayOf, whyOneByOne, whyUpdatedOneByOne } from '../src/plan/writes.ts'
import { createPlan } from '../src/verbs/index.ts'
import { mysqlColumn, sqliteColumn } from '../test/support/tables.ts'

export const FILE = join(import.meta.dirname, '../docs/internals/ways-of-writing.md')

/** The servers that decide differently, with the engine that their tables name. */
const SERVERS = { MySQL: 'innodb', MariaDB: 'innodb', SQLite: 'sqlite', TiDB: 'innodb' } as const

type Server = keyof typeof SERVERS

/** A kind of tables. The columns are `code`, which is the primary key unless there is an `id`, `n` and `m`. */
interface Kind {
  readonly name: string
  /** The servers that have it; all if omitted. */
  readonly servers?: readonly Server[]
  readonly facts?: Partial<TableFacts>
  /** Additional facts of its columns; `id` is one only here. */
  readonly columns?: Readonly<Record<string, object>>
  /** The named key; `code` if omitted. */
  readonly key?: string
  /** The column of another index. */
  readonly index?: string
  /** Whether the grant has a rule, on `m`. */
  readonly hasRule?: true
}

const trigger = (timing: 'before' | 'after', event: Trigger['event']): Pick<TableFacts, 'triggers'> => ({ triggers: { isComplete: true, list: [{ timing, event }] } })

const GIVEN = { nullable: false, optional: false }
const NUMBERED = { nullable: false, autoIncrement: true }
const COMPUTED = { nullable: false, defaultComputed: true }

const KINDS: readonly Kind[] = [
  { name: 'one given unique key' },
  { name: 'a second given unique key', columns: { id: GIVEN } },
  { name: 'AUTO_INCREMENT beside the named key', columns: { id: NUMBERED } },
  { name: 'AUTO_INCREMENT as the named key', columns: { id: NUMBERED }, key: 'id' },
  { name: 'a computed named key', columns: { code: COMPUTED } },
  { name: 'a nullable column with a default', columns: { n: { defaultText: '3' } } },
  { name: 'a BEFORE INSERT trigger', facts: trigger('before', 'insert') },
  { name: 'a BEFORE INSERT trigger and a nullable column with a default', facts: trigger('before', 'insert'), columns: { n: { defaultText: '3' } } },
  { name: 'a BEFORE INSERT trigger and a rule of the grant', facts: trigger('before', 'insert'), hasRule: true },
  { name: 'an AFTER INSERT trigger', facts: trigger('after', 'insert') },
  { name: 'a BEFORE UPDATE trigger', facts: trigger('before', 'update') },
  { name: 'an AFTER UPDATE trigger', facts: trigger('after', 'update') },
  { name: 'unknown triggers', facts: { triggers: { isComplete: false, list: [] } } },
  { name: 'history', servers: ['MariaDB'], facts: { versioned: true } },
  { name: 'history and a computed named key', servers: ['MariaDB'], facts: { versioned: true }, columns: { code: COMPUTED } },
  { name: 'no transactions', servers: ['MySQL', 'MariaDB'], facts: { engine: 'myisam', transactional: false } },
  { name: 'a foreign key to itself', index: 'n', facts: { foreignKeys: [{ name: 'parent', columns: ['n'], referencedTable: 'items', referencedColumns: ['code'] }] } },
  { name: 'a rule of the grant', hasRule: true }
]

function createTable ({ facts, columns = {}, index, hasRule }: Kind, server: Server): Table {
  const column = server === 'SQLite' ? sqliteColumn : mysqlColumn
  const keys = columns['id'] === undefined ? ['code'] : ['id', 'code']
  const indexOf = (column: string, name = `by_${column}`, unique = true): Index => ({ name, unique, ordered: true, parts: [{ column, descending: false, prefix: false }] })
  const indexes = keys.map((name, place) => indexOf(name, place === 0 ? 'PRIMARY' : undefined))
  const described: TableFacts = {
    name: 'items',
    kind: 'table',
    comment: '',
    engine: SERVERS[server],
    transactional: true,
    triggers: { isComplete: true, list: [] },
    columns: [...keys.map((name) => column(name, 'bigint', { ...GIVEN, ...optional(columns[name]) })), column('n', 'bigint', columns['n']), column('m', 'bigint')],
    primaryKey: keys.slice(0, 1),
    uniqueKeys: indexes.map(({ name }, place) => ({ name, columns: [keys[place] as string] })),
    indexes: index === undefined ? indexes : [...indexes, indexOf(index, undefined, false)],
    foreignKeys: [],
    checks: [],
    ...(server === 'TiDB' && { traits: { sharesLocks: false, upsert: 'byKey', countsFromEnd: true, nestsInAggregates: true } }),
    ...facts
  }
  const table = createCatalog([described], 0).tables.get('items') as Table
  return hasRule === true ? withRule(table) : table
}

/** A column that the database fills may be omitted. */
const optional = (column: object | undefined): object | undefined => column === undefined || column === GIVEN ? column : { ...column, optional: true }

/** The table as a grant sees it whose rows have 7 in `m`. */
function withRule (base: Table): Table {
  const { columns } = base
  const rules = [{ column: columns.get('m') as Column, tests: [{ kind: 'in', values: [7n] } as const] }]
  return { ...base, granted: { base, shape: undefined, required: new Set(), writable: { insert: columns, update: columns }, rules, parents: [], unchecked: [] } }
}

/** A row of a request. An upsert gives the number by which it finds a row. */
const rowFor = ({ columns = {}, key }: Kind, value: number, rest: object): object => ({
  ...((columns['id'] === GIVEN || key === 'id') && { id: value }), ...(columns['code'] === undefined && { code: value }), ...rest
})

type Rows = readonly [object, object]

interface Request {
  readonly label: string
  readonly rowsOf: (kind: Kind) => Rows
  readonly restOf: (kind: Kind) => object
}

const upsertOf = (label: string, rows: Rows, { set, ...rest }: { readonly set?: object, readonly outcomes?: true } = {}): Request => ({
  label,
  rowsOf: (kind) => [rowFor(kind, 1, rows[0]), rowFor(kind, 2, rows[1])],
  restOf: ({ key = 'code' }) => ({ onConflict: { key: [key], ...(set !== undefined && { set }) }, ...rest })
})

const SAME: Rows = [{ n: 1 }, { n: 2 }]
const OTHERS: Rows = [{ n: 1 }, {}]

const WITHOUT_NUMBER: Request = { ...upsertOf('upsert, a row without the number', SAME), rowsOf: (kind) => [{ code: 1, n: 1 }, rowFor(kind, 2, { n: 2 })] }

/** Requests by what is special in them; each as one row, and as a list of two. */
const REQUESTS: readonly Request[] = [
  ...[['insert', SAME], ['insert, other columns', OTHERS]].map(([label, rows]): Request => ({ ...upsertOf(label as string, rows as Rows), restOf: () => ({}) })),
  upsertOf('upsert', SAME),
  ...[[], ['n'], { n: 1 }, { n: { $inc: 1 } }, { n: null }].map((set) => upsertOf(`upsert, set ${JSON.stringify(set)}`, SAME, { set })),
  upsertOf('upsert, NULL given', [{ n: null }, { n: 2 }]),
  upsertOf('upsert, other columns', OTHERS),
  upsertOf('upsert, set ["n"], other columns', OTHERS, { set: ['n'] }),
  WITHOUT_NUMBER,
  upsertOf('upsert, outcomes', SAME, { outcomes: true })
]

const LIMITS = { depth: 32, conditions: 256, values: 10_000, pattern: 1000, offset: 100_000, include: { levels: 1, members: 1 } }

const planOf = (table: Table, body: object): Plan => createPlan(body as Body, alone(table), LIMITS)

const insertOf = (table: Table, data: object, rest: object): InsertPlan => planOf(table, { verb: 'insert', data, ...rest }) as InsertPlan

type Decide = (kind: Kind, server: Server, request: Request) => string

/** The way in which one row of a request is written. */
const describeRow: Decide = (kind, server, { rowsOf, restOf }) => {
  const one = insertOf(createTable(kind, server), rowsOf(kind)[0], restOf(kind))
  const { way, why } = wayOf(one, one.rows[0] as PlannedRow)
  return `${way}, ${why}`
}

/** How a list of rows is written, for another reason than that of its rows: those that are looked up are written one by one. */
const describeList: Decide = (kind, server, { rowsOf, restOf }) => {
  const list = insertOf(createTable(kind, server), rowsOf(kind), restOf(kind))
  const { way, why } = wayOf(list, list.rows[0] as PlannedRow)
  const reason = whyOneByOne(list, list.rows)
  if (reason === undefined && (way === 'look-up' || way === 'insert-first')) throw new Error(`${kind.name}: a list is not written row by row`)
  return reason === undefined || reason === why ? '' : `a list row by row, ${reason}`
}

const OTHERS_OF_ALL = 'other upserts'

const isUpsert = ({ label }: Request): boolean => label.startsWith('upsert')

const UPSERTS = REQUESTS.filter((request) => request !== WITHOUT_NUMBER && isUpsert(request))

const shortOf = ({ label }: Request): string => label.replace(/^upsert, /, '')

/** The requests of a decision in few words. `others`: the number of upserts with another decision. */
function namesOf (requests: readonly Request[], others: number): string {
  const missing = UPSERTS.filter((request) => !requests.includes(request))
  const isMost = missing.length < UPSERTS.length / 2
  const named = missing.length === 0
    ? 'all upserts'
    : isMost && missing.length === others ? OTHERS_OF_ALL : isMost ? `all upserts but ${missing.map(shortOf).join('; ')}` : undefined
  const inserts = requests.filter((request) => !isUpsert(request))
  const first = inserts.length > 1 ? ['inserts'] : inserts.map(({ label }) => label)
  if (first[0] === 'inserts' && named === 'all upserts') return 'all'
  return [...first, ...named !== undefined ? [named] : requests.filter(isUpsert).map(shortOf)].join('; ')
}

/** A line for each decision that is not the same as for `plain`, with its requests and, unless it is for all, its servers. */
function linesOf (kind: Kind, decide: Decide, plain?: Kind): string {
  const { servers = Object.keys(SERVERS) as Server[] } = kind
  const requests = REQUESTS.filter((request) => request !== WITHOUT_NUMBER || kind.key === 'id')
  const lines = servers.flatMap((server) => {
    const special = requests.filter((request) => decide(kind, server, request) !== (plain === undefined ? '' : decide(plain, server, request)))
    const upserts = special.filter((request) => isUpsert(request) && request !== WITHOUT_NUMBER).length
    return Array.from(Map.groupBy(special, (request) => decide(kind, server, request)), ([decision, of]) => ({ server, decision, names: namesOf(of, upserts - of.filter(isUpsert).length) }))
  })
  const grouped = Array.from(Map.groupBy(lines, ({ names, decision }) => `${names}: ${decision || 'a list by one statement'}`), ([line, of]) =>
    ({ line: `- ${of.length === servers.length ? '' : `${of.map(({ server }) => server).join(', ')}: `}${line}\n`, isRest: line.startsWith(OTHERS_OF_ALL) }))
  // what is left stands behind what is named
  return grouped.toSorted((one, next) => Number(one.isRest) - Number(next.isRest)).map(({ line }) => line).join('')
}

/** In which order the rows of an upsert are written, and how those of an update of many rows; on MySQL, if that has such tables. */
function ofLists (kind: Kind): string {
  const { servers: [server] = ['MySQL'], key = 'code' } = kind
  const table = createTable(kind, server as Server)
  const [decision] = insertOf(table, [rowFor(kind, 1, { n: 1 })], { onConflict: { key: [key] } }).decisions.values()
  const order = decision?.whyInOrder === undefined ? 'sorted by the key' : `in the order of \`data\`, ${decision.whyInOrder}`
  const { keyed } = planOf(table, { verb: 'update', key: [key], filters: {}, data: [{ [key]: 1, n: 1 }, { [key]: 2, n: 2 }] }) as UpdatePlan
  const reason = whyUpdatedOneByOne({ table, key: keyed?.key as Column[], updates: (keyed as KeyedUpdates).entries.map(({ update }) => update) })
  return `${order}${reason === undefined ? '' : `; an update row by row, ${reason}`}`
}

/** A line for each way to write lists, with the kinds of tables that have it, in one respect each. */
const lists = (): string => Array.from(Map.groupBy(KINDS.filter(({ name }) => !name.includes(' and ')), ofLists), ([decision, kinds]) => `- ${kinds.map(({ name }) => name).join('; ')}: ${decision}\n`).join('')

/** A part for each list of decisions that differs from that of the plain tables, with the kinds of tables that have it. */
function sections (): string {
  const [plain, ...others] = KINDS as [Kind, ...Kind[]]
  const grouped = Map.groupBy(others, (kind) => linesOf(kind, describeRow, plain) + linesOf(kind, describeList, plain))
  const different = Array.from(grouped).filter(([lines]) => lines !== '')
  return [
    `## A table with ${plain.name}\n\n${linesOf(plain, describeRow)}${linesOf(plain, describeList)}`,
    'What differs in tables of other kinds:\n',
    ...different.map(([lines, kinds]) => `## With ${kinds.map(({ name }) => name).join('; with ')}\n\n${lines}`)
  ].join('\n')
}

const OTHER_WRITES = 'other writes'

/** The isolation of writes, where it is not the usual one. */
function isolations (): string {
  const [plain] = KINDS as [Kind]
  const other = { other: { on: { n: 'code' }, table: 'others' } }
  const bodies: ReadonlyArray<readonly [string, Kind, object]> = [
    [OTHER_WRITES, plain, { verb: 'update', filters: { code: 1 }, data: { n: 1 }, returning: '*' }],
    ['update or delete with `$some` or `$none`', plain, { verb: 'update', filters: { $some: other }, data: { m: 1 } }],
    ['write with `include`', plain, { verb: 'update', filters: { n: 1 }, data: { m: 1 }, returning: '*', include: other }],
    ['update of a unique key, with `returning` or checked rows', plain, { verb: 'update', filters: { n: 1 }, data: { code: 2 }, returning: '*' }],
    ['delete with `returning`', plain, { verb: 'delete', filters: { n: 1 }, returning: '*' }],
    ['delete with `expect` or `limits.changed`, in a table with a foreign key', KINDS.find(({ index }) => index !== undefined) as Kind, { verb: 'delete', filters: { m: 1 }, expect: 1 }],
    ['insert under a rule, with a BEFORE INSERT trigger', KINDS.find(({ facts, hasRule }) => hasRule === true && facts !== undefined) as Kind, { verb: 'insert', data: { code: 1 } }]
  ]
  const lines = bodies.map(([label, kind, body]) => {
    const reason = whyRepeatable(createPlan(body as Body, { table: createTable(kind, 'MySQL'), see: () => ({ ...createTable(kind, 'MySQL'), name: 'others' }) }, LIMITS))
    if ((reason === undefined) !== (kind === plain && label === OTHER_WRITES)) throw new Error(`${label}: the isolation is another one`)
    return reason === undefined ? '' : `- ${label}: ${reason}\n`
  })
  return lines.join('')
}

/** The lists that are written row by row, or whose first row is written alone, for the numbers that the database gives. */
function numbers (): string {
  const numbered = KINDS.find(({ key }) => key === 'id') as Kind
  const filled = { ...numbered, facts: trigger('before', 'insert') }
  const list = [{ code: 1, n: 1 }, { code: 2, n: 2 }]
  const returning = { returning: '*' }
  const bodies: ReadonlyArray<readonly [string, Kind, readonly object[], object]> = [
    ['insert with `returning`, of which some rows have AUTO_INCREMENT numbers', numbered, [{ id: 1, code: 1 }, { code: 2 }], returning],
    ['insert with `returning`, with AUTO_INCREMENT and a BEFORE INSERT trigger', filled, list, returning],
    ['upsert with `returning`, whose rows only an AUTO_INCREMENT number identifies', numbered, list, { onConflict: { key: ['code'], set: { code: 3 } }, ...returning }],
    ['insert, with AUTO_INCREMENT and a BEFORE INSERT trigger', filled, list, {}]
  ]
  return bodies.map(([label, kind, data, rest]) => {
    const { rows, why } = whyNumbersApart(insertOf(createTable(kind, 'MySQL'), data, rest)) ?? {}
    if (why === undefined) throw new Error(`${label}: a list is written by one statement`)
    return `- ${label}: ${rows === 'first' ? 'the first row alone' : 'row by row'}, ${why}\n`
  }).join('')
}

/** The ways of upserts in the order in which they are tried. */
const rules = (): string => [
  ...UPSERT_RULES.map(({ way, why }) => `${way}: ${why}`),
  'guarded; where NULL may be written to a nullable column with a default: look-up, or insert-first with a BEFORE INSERT trigger'
].map((rule, index) => `${index + 1}. ${rule}\n`).join('')

export const createDocument = (): string => `# How are rows written?

\`src/plan/writes.ts\` decides how inserts, upserts and updates of a list are written, by table, named key, given and set columns, response and rules; \`npm run docs\` writes its decisions here. The named key is \`code\`, or \`id\` if the database numbers it.

- **insert**: an insert.
- **guarded**: the upsert of the engine, which changes no row that has another named key, or is outside of the rules (\`src/sql/compile-insert.ts\`): SQLite's names the key, and leaves a row outside of the rules as it is; that of MySQL and MariaDB fails. If a unique key refuses it, a look-up: not on SQLite, whose statement names its key, and not where a trigger may change what is written to a unique key.
- **look-up**: a select by the named key, without a lock; then an update by key and rules, or an insert. If a unique key refuses that, and a trigger may have given the row the key of one that exists, the guarded statement.
- **insert-first**: an insert; if a unique key refuses it, as a guarded row, which is not counted as inserted.

An upsert takes the first way that applies, of which those by a look-up may have any order:

${rules()}
A list is written by one statement, or row by row in a transaction: where its rows are not inserted or guarded, for the reasons below, and if the database refuses a row, so that the error names it. For the numbers that the database gives (\`whyNumbersApart\`):

${numbers()}
## In which isolation

On MySQL and MariaDB at READ COMMITTED, except these, at REPEATABLE READ:

${isolations()}
That is the isolation of a write alone: within \`operations\`, the hook \`onWrite\` and transactions in process, it is REPEATABLE READ, or SERIALIZABLE if that is requested. A look-up may then read an older snapshot, which is of no consequence, because an update and an insert read current rows: one that finds no row inserts it, and an insert that is refused updates. At SERIALIZABLE, the servers lock what a look-up reads, also the gap in which it finds no row.

## In which order

An upsert sorts its rows by the key, against deadlocks, and an update of many rows is one statement, unless the order may show:

${lists()}
SQLite never sorts: one writer excludes the others (\`hasOneWriter\`).

## The way of one upsert

1. \`src/pipeline.ts\`: \`handle\` has it planned, and \`runPlan\` runs it: with the hook \`onWrite\` or an idempotency key in a transaction (\`respondInTransaction\`), then as in 4; else by \`executePlan\`.
2. \`src/verbs/execute.ts\`: \`executePlan\` begins a transaction (\`transact\`) if the plan says so (\`inTransaction\`), or one statement may not be enough (\`mayNeedSeveral\`), then as in 4.
3. \`src/execute/execute-insert.ts\`: otherwise \`insertAtOnce\` sends one statement; if a row is refused, or a deadlock ends it, the transaction of 2.
4. \`src/verbs/insert.ts\`: in a transaction, \`run\` calls \`runInsert\`, or \`insertReturning\` for a response with rows.
5. \`src/execute/execute-insert.ts\`: \`runTogether\` writes a list by one statement (\`toBatch\`, \`writeBatch\`), or by \`runOneByOne\`; a row by \`attempt\`, in its way.
6. \`src/execute/execute-insert.ts\`: \`resultOf\` has the id found (\`upsertedId\`); the response is that of \`src/verbs/insert.ts\`.

## Where is it done?

- **Where is the way decided?** \`src/plan/writes.ts\`: \`decide\`, by \`UPSERT_RULES\`, from what the catalog says of the table (\`factsOf\`); \`wayOf\` for a row with NULL, \`whyOneByOne\` for a list, \`whyNumbersApart\` of \`src/plan/insert-key.ts\` for its numbers. What a decision contains: \`WriteDecision\` of \`src/plan/plan.ts\`. A plain insert of one row needs none.
- **What does an upsert send?** \`src/sql/compile-insert.ts\`: the statement of SQLite (\`onConflict\`) and that of MySQL and MariaDB (\`onDuplicateKey\`), as in \`test/sql/golden\`. \`src/execute/execute-insert.ts\`: \`attempt\`, one statement after the other for a row.
- **What if two clients insert the same key?** \`src/execute/execute-insert.ts\`. On SQLite one writer excludes the others. On MySQL and MariaDB a plain insert is 409; a guarded upsert waits for the other one, and updates its row; a deadlock of an upsert or a list runs again as a transaction (\`insertAtOnce\`), a plain insert of one row is 503; a look-up that found no row, whose insert is then refused, updates (\`changeOrInsert\`). Who waits too long for the other one gets LOCK_TIMEOUT (\`lockTimeout\`). MariaDB may refuse to write a row that has changed since the snapshot (1020), which counts as a deadlock (\`src/dialects/mysql/errors.ts\`).
- **Where are the rules of the grant tested?** \`src/plan/row-rules.ts\`: the given and set values, and the condition for the row that exists (\`Conflict.condition\`), which a look-up has, and the statement too, except SQLite's if nothing is set (\`src/sql/compile-insert.ts\`). SQLite's statement leaves a row outside of them as it is, and then it is refused like those of the others (\`refuseOutside\` of \`src/execute/execute-insert.ts\`). What the database computes is tested after the write (\`src/execute/after-write.ts\`).
- **How is the id found?** \`src/execute/inserted-id.ts\`. Of a plain insert (\`newId\`): what the client has sent, or the number that the server reports. Of one upsert (\`upsertedId\`), the first of these that is known: by a select, where triggers or comparisons may hide the id, or the key is not the id and no number is reported (\`selectsId\`); for a new row, as for a plain insert; what was written to the id of a row that existed (\`writtenId\`); the AUTO_INCREMENT number that MySQL and MariaDB report (\`last_insert_id(id)\` in \`src/sql/compile-insert.ts\`); for a key that the database computes, what the statement tells (\`computedKeyId\`; on SQLite by \`row_query_exists(id)\`); the key, if it is the id (\`keyId\`). Ordinarily that is the reported number with AUTO_INCREMENT on MySQL and MariaDB; elsewhere, the key if it is the id, else a select. Of a list of upserts it is null. The numbers by which \`returning\` finds rows: \`insertReturning\` of \`src/execute/execute-insert.ts\`.

## What is tried again

Each is where what it needs is: the row and its key, the session, the servers, the catalog. One file for all would lead from the servers to the plans, and back.

- The database refuses an upsert or a row of a list, or a deadlock ends its only statement: a transaction, row by row if that is refused too (\`src/execute/execute-insert.ts\`).
- Another unique key refuses the guarded statement, no number is left, or a virtual column may have failed in a row of others: a look-up. Another client inserts the row meanwhile: an update (\`src/execute/execute-insert.ts\`).
- A value is out of range where a table has rules and virtual columns: the statement again in the form that finds the rows by the rules first (\`src/dialects/mysql/execution.ts\`).
- A deadlock, or a conflict at COMMIT: the transaction again, at most three times (\`src/dialects/mysql/transaction.ts\`).
- A server takes no connections or writes, or a connection is lost: the next server for what did not run, and once for a read (\`src/dialects/mysql/dialect.ts\`).
- The tables have changed: the request again, if nothing was changed (\`src/databases/stale-catalog.ts\`).

## What was tried and is wrong

- **An upsert without a guard beside a second unique key.** A default, a generated column, the beginning of a text or a trigger meets that key, and the wrong row is written, with rules that of another tenant: with \`id tinyint\` at 127, an upsert of row B wrote row A.
- **Finding all rows first, then one insert and one update by a join.** A key may have moved; a row that is named twice counts once for \`$inc\`; BEFORE INSERT triggers do not see rows that exist; MariaDB compares DECIMAL keys in a list otherwise. 20 clients had 239 to 381 requests refused.
- **No insert first.** With a BEFORE INSERT trigger that says \`set new.k = reverse(new.k)\`, and a default of 3 in \`n\`, the servers count \`insert into t (k, n) values ('ab', null) on duplicate key update n = values(n)\` as a new row where 'ba' has NULL already; a look-up of 'ab' finds the row that was sent as 'ba'.
- **A look-up that locks.** A lock on a row that does not exist keeps others from inserting theirs, so both end in a deadlock.

${sections()}`

if (process.argv[1] === import.meta.filename) writeFileSync(FILE, createDocument())
