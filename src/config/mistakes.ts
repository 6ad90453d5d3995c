import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

/** A configuration that cannot be used. Its message has one line for each mistake, naming the setting and never a secret. */
export class ConfigError extends Error {
  readonly code = 'ROW_QUERY_INVALID_CONFIG'
  readonly mistakes: readonly string[]

  constructor (mistakes: readonly string[]) {
    super(mistakes.join('\n'))
    this.name = 'ConfigError'
    this.mistakes = mistakes
  }
}

/** What a value has wrong by its schema, a line for each place: `databases.shop.pool.size: expected …`. */
export function findMistakes (schema: TSchema, value: unknown): string[] {
  const byPath = new Map<string, string>()
  for (const { path, message, schema: { description } } of Value.Errors(schema, value)) {
    const setting = path.slice(1).replaceAll('/', '.') || 'configuration'
    if (!byPath.has(setting)) byPath.set(setting, `${setting}: ${lowerFirst(message)}${description === undefined ? '' : ` (${description})`}`)
  }
  return [...byPath.values()]
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)
