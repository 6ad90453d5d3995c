import type { ForeignKey, Table, TableFacts, TriggerEvent, Triggers, TriggerWrite } from './catalog.ts'

export const EVENTS: readonly TriggerEvent[] = ['insert', 'update', 'delete']
const NONE: ReadonlySet<string> = new Set()

/** The tables that triggers write, directly or through further triggers and cascades, as far as their texts show. */
export const writtenBy = (
  { triggers: { written } }: Pick<Table, 'triggers'>,
  event: TriggerEvent
): ReadonlySet<string> => (written === undefined ? NONE : new Set(written[event]))

export type FindTable = (name: string) => TableFacts | undefined

/** The foreign keys must have the exact names of tables. */
export function withWrittenTables (tables: readonly TableFacts[], find: FindTable): readonly TableFacts[] {
  if (tables.every(({ triggers: { list } }) => list.every(({ writes }) => writes === undefined))) return tables
  const children = childrenOf(tables)
  return tables.map((table) => {
    const written = writtenTables(table, { find, children })
    return EVENTS.every((event) => written[event].length === 0)
      ? table
      : { ...table, triggers: { ...table.triggers, written } }
  })
}

/** A table whose foreign key makes it change with the rows that it refers to. */
interface Child { readonly table: TableFacts, readonly cascades: NonNullable<ForeignKey['cascades']> }

/** The tables that change with the rows of another one, by the name of that one. */
function childrenOf (tables: readonly TableFacts[]): ReadonlyMap<string, readonly Child[]> {
  const children = tables.flatMap((table) =>
    table.foreignKeys.flatMap(({ cascades, referencedTable }) =>
      cascades === undefined ? [] : [{ table, cascades, referencedTable }]
    )
  )
  return Map.groupBy(children, ({ referencedTable }) => referencedTable)
}

function writtenTables (
  table: TableFacts,
  { find, children }: { readonly find: FindTable; readonly children: ReadonlyMap<string, readonly Child[]> }
): NonNullable<Triggers['written']> {
  const [insert, update, delete_] = EVENTS.map((event) => {
    const written = new Set<string>()
    const seen = new Set<string>()
    const fire = ({ name, triggers: { list } }: TableFacts, event: TriggerEvent): void => {
      if (seen.has(`${event} ${name}`)) return
      seen.add(`${event} ${name}`)
      for (const write of list.filter((trigger) => trigger.event === event).flatMap(({ writes = [] }) => writes)) {
        const target = find(write.table)
        if (target === undefined) continue
        written.add(target.name)
        fire(target, write.event)
      }
      for (const { table: child, cascades } of children.get(name) ?? []) {
        const done = cascades[event]
        if (done !== undefined) fire(child, done)
      }
    }
    fire(table, event)
    return [...written].sort()
  }) as [string[], string[], string[]]
  return { insert, update, delete: delete_ }
}

// What a trigger does by calling a routine is not in its text.

interface Token {
  readonly text: string
  /** Lower case for a word without quotes; undefined for any other token. */
  readonly word: string | undefined
  readonly isName: boolean
}

const WORD = String.raw`[\w$\u0080-\uffff]+`
/** Matches a comment, a text (with or without backslashes), a quoted identifier, a word, or any other character. */
const tokensOf = (text: string): RegExp =>
  new RegExp(
    String.raw`/\*(?!M?!)[^]*?(?:\*/|$)|--[^\n]*|#[^\n]*|` +
      String.raw`(${text}|"(?:[^"]|"")*(?:"|$)|\x60(?:[^\x60]|\x60\x60)*(?:\x60|$)|\[[^\]]*(?:\]|$))|(${WORD})|(\S)`,
    'g'
  )
const TOKENS = {
  mysql: tokensOf(String.raw`'(?:[^'\\]|\\[^]|'')*(?:'|$)`),
  sqlite: tokensOf(String.raw`'(?:[^']|'')*(?:'|$)`)
}

/**
 * `text`: the body of the trigger on MySQL and MariaDB, its whole definition on SQLite. `schema`: the name of the
 * database, if triggers can name others.
 */
export function writesOf (text: string, engine: keyof typeof TOKENS, schema?: string): TriggerWrite[] {
  const tokens = Array.from(text.matchAll(TOKENS[engine]), ([, quoted, word, other]): Token[] => {
    if (quoted !== undefined) return [{ text: unquote(quoted), word: undefined, isName: true }]
    if (word !== undefined) return [{ text: word, word: word.toLowerCase(), isName: true }]
    return other === undefined ? [] : [{ text: other, word: undefined, isName: false }]
  }).flat()
  const begin = engine === 'sqlite' ? tokens.findIndex(({ word }) => word === 'begin') : -1
  return new Reader(tokens.slice(begin + 1), schema).read()
}

function unquote (quoted: string): string {
  const [open, close] = [quoted.charAt(0), quoted.charAt(quoted.length - 1)]
  return quoted.slice(1, -1).replaceAll(open + close, close)
}

/** Words between a verb and its table. SQLite: `or replace`. */
const MODIFIERS = new Set([
  'low_priority',
  'delayed',
  'high_priority',
  'quick',
  'ignore',
  'into',
  'or',
  'abort',
  'fail',
  'rollback',
  'replace'
])
/** Words that end a list of tables. */
const ENDS = new Set(['set', 'where', 'order', 'limit', 'returning', 'using', 'end'])
/** Words that never stand in a list of tables. */
const VERBS = new Set(['update', 'delete'])

class Reader {
  readonly #tokens: readonly Token[]
  readonly #schema: string | undefined
  readonly #writes = new Map<string, TriggerWrite>()

  constructor (tokens: readonly Token[], schema: string | undefined) {
    this.#tokens = tokens
    this.#schema = schema
  }

  read (): TriggerWrite[] {
    let last: string | undefined
    for (let index = 0; index < this.#tokens.length; index++) {
      const before = this.#word(index - 1)
      switch (this.#word(index)) {
        case 'insert':
        case 'replace': {
          const at = this.#afterModifiers(index)
          // `or replace`, or a function of that name
          if (before === 'or' || this.#tokens[at]?.isName !== true) break
          last = this.#nameAt(at)
          this.#add(last, 'insert')
          if (this.#tokens.slice(index, at).some(({ word }) => word === 'replace')) this.#add(last, 'delete')
          break
        }
        case 'update':
          if (before === 'key' || before === 'do') this.#add(last, 'update') // of an insert
          else if (before !== 'for' && before !== 'on') this.#addAll(this.#afterModifiers(index), 'update')
          break
        case 'delete':
          if (before !== 'on') this.#addAll(this.#afterModifiers(index), 'delete')
          break
      }
    }
    return [...this.#writes.values()]
  }

  #word (index: number): string | undefined {
    return this.#tokens[index]?.word
  }

  #afterModifiers (verb: number): number {
    let index = verb + 1
    while (MODIFIERS.has(this.#word(index) ?? '')) index++
    return index
  }

  /** The name of a table; undefined if it is one of another database. */
  #nameAt (index: number): string | undefined {
    const token = this.#tokens[index]
    if (token?.isName !== true) return undefined
    const qualified = this.#tokens[index + 1]?.text === '.' ? this.#tokens[index + 2] : undefined
    if (qualified?.isName !== true) return token.text
    return this.#schema === undefined || this.#schema.toLowerCase() === token.text.toLowerCase()
      ? qualified.text
      : undefined
  }

  /** Adds the tables of a list with joins, such as `a, b join c`. */
  #addAll (from: number, event: TriggerEvent): void {
    let isTable = true
    let depth = 0
    for (let index = from; index < this.#tokens.length; index++) {
      const { text, word, isName } = this.#tokens[index] as Token
      if (text === ';' || (word !== undefined && (VERBS.has(word) || (depth === 0 && ENDS.has(word))))) return
      if (text === '(' || text === ')') depth += text === '(' ? 1 : -1
      else if (depth === 0 && (text === ',' || word === 'join' || word === 'from')) isTable = true
      else if (depth === 0 && isTable && isName) {
        this.#add(this.#nameAt(index), event)
        isTable = false
      }
    }
  }

  #add (table: string | undefined, event: TriggerEvent): void {
    if (table !== undefined) this.#writes.set(`${event} ${table}`, { table, event })
  }
}
