/**
 * The grammar of `filters`. Planner, documents and types of the client are derived from these tables; TypeScript
 * reports what a new line lacks. Imports nothing, because programs without the types of Node or TypeBox read it.
 */

/** The requirements of an operator on its column and operand. */
export interface FilterOperator {
  /** The level of comparison that the column must support. `none` asks about NULL only; `members` is that of a SET. */
  readonly needs: 'none' | 'equality' | 'order' | 'text' | 'members'
  /**
   * The form of the operand. `compared`: a value or the present time; `comparedOrNull`: these or null; `valueOrNull`: a
   * value or null; `values`: a list of values and null; `pair`: two values or times; `pattern`: a text; `boolean`;
   * `members`: a member of a SET, or a list of them.
   */
  readonly operand:
    'compared' | 'comparedOrNull' | 'valueOrNull' | 'values' | 'pair' | 'pattern' | 'boolean' | 'members'
  /** The minimum length of a list that is useful, for documents. */
  readonly minItems?: number
}

/** The operators that compare a column with an operand. */
export const OPERATORS = {
  $eq: { needs: 'equality', operand: 'comparedOrNull' },
  $ne: { needs: 'equality', operand: 'comparedOrNull' },
  /** Like `$eq`, but compares texts byte by byte. */
  $is: { needs: 'equality', operand: 'valueOrNull' },
  $in: { needs: 'equality', operand: 'values' },
  $nin: { needs: 'equality', operand: 'values', minItems: 1 },
  $gt: { needs: 'order', operand: 'compared' },
  $gte: { needs: 'order', operand: 'compared' },
  $lt: { needs: 'order', operand: 'compared' },
  $lte: { needs: 'order', operand: 'compared' },
  $between: { needs: 'order', operand: 'pair' },
  $like: { needs: 'text', operand: 'pattern' },
  $nlike: { needs: 'text', operand: 'pattern' },
  $startsWith: { needs: 'text', operand: 'pattern' },
  $contains: { needs: 'text', operand: 'pattern' },
  $null: { needs: 'none', operand: 'boolean' },
  /** A SET has this member, or all of these. */
  $has: { needs: 'members', operand: 'members', minItems: 1 }
} as const satisfies Record<`$${string}`, FilterOperator>

export type OperatorName = keyof typeof OPERATORS
/** The forms of operands that operators have. */
export type OperandForm = FilterOperator['operand']

/** The operators of `expect`, which bound a number of rows; src/plan/row-range.ts says what each of them means. */
export const BOUNDS = ['$eq', '$gt', '$gte', '$lt', '$lte'] as const satisfies readonly OperatorName[]

/**
 * Keys of an object of filters that are not columns -> what they take: a list of such objects, one of them, a row as a
 * select returns it, or members: names to other tables with filters of their own; or words to search for.
 */
export const COMBINATORS = {
  $and: 'list',
  $or: 'list',
  $not: 'filters',
  /** A row as a select returns it, or some of its columns. */
  $is: 'row',
  /** At least one related row passes. */
  $some: 'members',
  /** No related row passes. */
  $none: 'members',
  /** Full text: words in the columns of a FULLTEXT index. */
  $match: 'search'
} as const satisfies Record<`$${string}`, 'list' | 'filters' | 'row' | 'members' | 'search'>

/**
 * What `$match` finds: rows with one of the words, or with every word; `boolean`: the text has the operators of the
 * server.
 */
export const MATCH_MODES = ['any', 'all', 'boolean'] as const

/** Maximum number of characters of the text of `$match`. */
export const MATCH_LENGTH = 1000

export type CombinatorName = keyof typeof COMBINATORS
/** The forms of values that combinators take. */
export type CombinatorForm = typeof COMBINATORS[CombinatorName]
