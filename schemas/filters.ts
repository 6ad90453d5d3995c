/**
 * The grammar of `filters`. Planner, documents and types of the client are derived from these tables; TypeScript
 * reports what a new line lacks. Imports nothing, because programs without the types of Node or TypeBox read it.
 */

/** The requirements of an operator on its column and operand. */
export interface FilterOperator {
  /**
   * The level of comparison that the column must support. `none` asks about NULL only; `members` is that of a SET,
   * `paths` that of JSON.
   */
  readonly needs: 'none' | 'equality' | 'order' | 'text' | 'members' | 'paths'
  /**
   * The form of the operand. `compared`: a value or the present time; `comparedOrNull`: these or null; `valueOrNull`: a
   * value or null; `values`: a list of values and null; `pair`: two values or times; `pattern`: a text; `boolean`;
   * `members`: a member of a SET, or a list of them; `paths`: an object with a filter for each path.
   */
  readonly operand:
    'compared' | 'comparedOrNull' | 'valueOrNull' | 'values' | 'pair' | 'pattern' | 'boolean' | 'members' | 'paths'
  /** The minimum length of a list that is useful, for documents. */
  readonly minItems?: number
  /** Whether `$case` may stand beside it. */
  readonly hasCase?: true
  /** Whether its operand may be another column: `{"$column": "ordered_at"}`. */
  readonly takesColumn?: true
}

export const OPERATORS = {
  $eq: { needs: 'equality', operand: 'comparedOrNull', hasCase: true, takesColumn: true },
  $ne: { needs: 'equality', operand: 'comparedOrNull', hasCase: true, takesColumn: true },
  /** Like `$eq`, but compares texts byte by byte. */
  $is: { needs: 'equality', operand: 'valueOrNull' },
  $in: { needs: 'equality', operand: 'values', hasCase: true },
  $nin: { needs: 'equality', operand: 'values', minItems: 1, hasCase: true },
  $gt: { needs: 'order', operand: 'compared', takesColumn: true },
  $gte: { needs: 'order', operand: 'compared', takesColumn: true },
  $lt: { needs: 'order', operand: 'compared', takesColumn: true },
  $lte: { needs: 'order', operand: 'compared', takesColumn: true },
  $between: { needs: 'order', operand: 'pair' },
  $like: { needs: 'text', operand: 'pattern', hasCase: true },
  $nlike: { needs: 'text', operand: 'pattern', hasCase: true },
  $startsWith: { needs: 'text', operand: 'pattern', hasCase: true },
  $contains: { needs: 'text', operand: 'pattern', hasCase: true },
  $null: { needs: 'none', operand: 'boolean' },
  /** A SET has this member, or all of these. */
  $has: { needs: 'members', operand: 'members', minItems: 1 },
  /** Values at paths inside a JSON column. */
  $at: { needs: 'paths', operand: 'paths' }
} as const satisfies Record<`$${string}`, FilterOperator>

/** What `$case` beside operators says: how they compare the letter case of texts. */
export const CASES = ['ignore'] as const

export type OperatorName = keyof typeof OPERATORS
/** The operators beside which `$case` may stand. */
export type CasedOperator = {
  [O in OperatorName]: (typeof OPERATORS)[O] extends { readonly hasCase: true } ? O : never
}[OperatorName]
export type OperandForm = FilterOperator['operand']

/**
 * The operators of a value inside a JSON column -> the forms of their operands: texts, numbers and booleans, where they
 * compare values; texts for patterns.
 */
export const PATH_OPERATORS = {
  $eq: 'comparedOrNull',
  $ne: 'comparedOrNull',
  $is: 'comparedOrNull',
  $in: 'values',
  $nin: 'values',
  $gt: 'compared',
  $gte: 'compared',
  $lt: 'compared',
  $lte: 'compared',
  $between: 'pair',
  $startsWith: 'pattern',
  $contains: 'pattern',
  $null: 'boolean',
  /** Whether there is a value at the path, which may be JSON's null. */
  $exists: 'boolean'
} as const satisfies Record<`$${string}`, OperandForm>

/**
 * A pattern of one step of a path after `$`: a name, a key as a JSON string, or the index of an element of a list, also
 * from its end.
 */
export const PATH_STEP = '\\.([A-Za-z_][A-Za-z0-9_]*)|\\.("(?:[^"\\\\]|\\\\.)*")|' +
  '\\[(0|[1-9][0-9]{0,5})\\]|\\[(last)(?:-([1-9][0-9]{0,5}))?\\]'

export type PathOperatorName = keyof typeof PATH_OPERATORS

/** The operators of `expect`, which bound a number of rows; src/plan/write-options.ts says what each of them means. */
export const BOUNDS = ['$eq', '$gt', '$gte', '$lt', '$lte'] as const satisfies readonly OperatorName[]

/**
 * Keys of an object of filters that are not columns -> what they take: a list of such objects, one of them, a row as a
 * select returns it, or members: names to other tables with filters of their own, which may be counted; or words to
 * search for.
 */
export const COMBINATORS = {
  $and: 'list',
  $or: 'list',
  $not: 'filters',
  /** A row as a select returns it, or some of its columns. */
  $is: 'row',
  /** At least one related row passes. */
  $some: 'counted',
  /** No related row passes. */
  $none: 'members',
  /** Full text: words in the columns of a FULLTEXT index. */
  $match: 'search'
} as const satisfies Record<`$${string}`, 'list' | 'filters' | 'row' | 'members' | 'counted' | 'search'>

/**
 * What `$match` finds: rows with one of the words, or with every word; `boolean`: the text has the operators of the
 * server.
 */
export const MATCH_MODES = ['any', 'all', 'boolean'] as const

/** Characters of the text of `$match`. */
export const MATCH_LENGTH = 1000

export type CombinatorName = keyof typeof COMBINATORS
export type CombinatorForm = typeof COMBINATORS[CombinatorName]

/** By any name, which may be one that every object has. */
export const COMBINATOR_FORMS: ReadonlyMap<string, CombinatorForm> = new Map(Object.entries(COMBINATORS))

/** Why the combinator at a path of a body is refused, if more than `depth` of them lead there; else undefined. */
export const findTooDeep = (path: ReadonlyArray<string | number>, depth: number): string | undefined =>
  path.filter((step) => COMBINATOR_FORMS.has(step as string)).length > depth
    ? `is nested deeper than ${depth} levels`
    : undefined
