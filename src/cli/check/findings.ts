/** What `row-query check` finds. */

/** Kinds of findings, in the order in which they are printed. */
const KINDS = ['line', 'error', 'warning', 'enough', 'note'] as const
export type Kind = typeof KINDS[number]

/**
 * - line: a fact
 * - error: what can never work; the exit code is 1
 * - warning: what is dangerous, or fails for some requests; the exit code is 1 with --strict
 * - enough: a statement that grants the account sufficient privileges
 * - note: what can be better
 */
export type Findings = ReadonlyArray<readonly [kind: Kind, text: string]>

export const findings = (kind: Kind, texts: readonly string[]): Findings => texts.map((text) => [kind, text])

export const has = (all: Findings, kind: Kind): boolean => all.some(([each]) => each === kind)

/** Begins each finding with the label of its subject. */
export const about = (label: string, all: Findings): Findings => all.map(([kind, text]) => [kind, `${label}: ${text}`])

/** Writes findings below a heading. */
export function write (heading: string, all: Findings): string {
  const sorted = KINDS.flatMap((kind) => all.filter(([each]) => each === kind))
  return [heading, ...sorted.map(([kind, text]) => kind === 'line' ? `  ${text}` : `  ${kind}: ${text}`)].map((line) => `${line}\n`).join('')
}

/** Maximum number of names that are listed. */
const MAX_NAMES = 10

/** `"customers", "orders" and 3 more`. */
export function listNames (names: readonly string[]): string {
  const more = names.length - MAX_NAMES
  return names.slice(0, MAX_NAMES).map((name) => `"${name}"`).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
