/** Paths inside a JSON column: `$.size`, `$.tags[0]`, `$.tags[last]`, `$."any key"`. */
import { PATH_STEP } from '../../schemas/filters.ts'
import type { Column } from '../catalog/catalog.ts'
import { at, invalidBody, type Path, pointer, unsupported } from '../errors.ts'
import type { JsonInside } from '../types/column-type.ts'
import type { ColumnScope } from './columns.ts'
import { requireShort } from './filters/scope.ts'
import type { JsonPart, JsonParts, JsonPlace } from './plan.ts'
import type { FilterLimits } from './limits.ts'

export interface PathScope {
  readonly table: ColumnScope
  readonly limits: FilterLimits
  readonly path: Path
}

const STEP = new RegExp(PATH_STEP, 'sy')

/** Its keys are written anew, in quotes. @throws INVALID_BODY, NOT_SUPPORTED */
export function readPath (text: string, column: Column, { table, limits, path }: PathScope): JsonPlace {
  requireShort(text, limits, path)
  const inside = column.type.inside as JsonInside
  const { listName, maxSteps, unreachable, fromEnd } = inside
  const steps: string[] = []
  const lists: number[] = []
  const ends = new Set<number>()
  STEP.lastIndex = 1
  while (text.startsWith('$') && STEP.lastIndex < text.length) {
    const [step, name, quoted, index, last, others = '0'] = STEP.exec(text) ?? []
    const key = name ?? (quoted === undefined ? undefined : readKey(quoted))
    if (step === undefined || (index ?? last ?? key) === undefined) break
    if (key !== undefined && unreachable?.keys.test(key) === true) {
      throw unsupported(pointer(...path), unreachable.reason)
    }
    if (last !== undefined) {
      if (table.traits?.countsFromEnd === false) {
        throw unsupported(pointer(...path), '"[last]" needs MariaDB 10.9 or later')
      }
      ends.add(steps.length)
    }
    if (listName !== undefined && (index === '0' || last !== undefined)) lists.push(steps.length)
    const inList = last === undefined ? `[${index}]` : fromEnd(Number(others))
    steps.push(key === undefined ? inList : `.${JSON.stringify(key)}`)
    if (steps.length > maxSteps) throw refuse(path, `has more than ${maxSteps} steps`)
    if (STEP.lastIndex === text.length) return placeOf({ steps, lists, ends }, inside)
  }
  if (text === '$') return placeOf({ steps, lists, ends }, inside)
  throw refuse(path, 'is not a path such as $.size, $.tags[0], $.tags[last] or $."any key"')
}

/** `lists`: the numbers of steps to the values that must be lists. `ends`: the steps that count from the end. */
function placeOf (
  { steps, lists, ends }: {
    readonly steps: readonly string[]
    readonly lists: readonly number[]
    readonly ends: ReadonlySet<number>
  },
  { step: byStep, perRow }: JsonInside
): JsonPlace {
  const parts = byStep === undefined || steps.length === 0
    ? undefined
    : steps.map((step, index): JsonPart => ({
      jsonPath: `$${step}`,
      ...perRow !== undefined && ends.has(index) && { isFromEnd: true }
    }))
  const partsTo = (length: number): JsonParts => parts === undefined || length === 0
    ? [{ jsonPath: ['$', ...steps.slice(0, length)].join('') }]
    : parts.slice(0, length) as [JsonPart, ...JsonPart[]]
  return { jsonParts: partsTo(steps.length), lists: lists.map(partsTo) }
}

/** A key of a path, which may contain any characters. */
const KEY = /"(?:[^"\\]|\\.)*"/g

/**
 * Conditions of a path beyond its own: each step into a list but the first. MySQL needs a condition for each, so that
 * 256 paths of 98 such steps kept the event loop for seconds.
 */
export const furtherLists = ({ jsonParts }: JsonPlace): number =>
  Math.max(0, jsonParts.reduce((sum, { jsonPath }) => sum + jsonPath.replace(KEY, '').split('[').length - 1, -1))

/** Undefined if the text is not a JSON string of valid Unicode. */
function readKey (quoted: string): string | undefined {
  try {
    const key: string = JSON.parse(quoted)
    return key.isWellFormed() ? key : undefined
  } catch {
    return undefined
  }
}

const refuse = (path: Path, reason: string) => at(path, invalidBody(`"${path.join('.')}" ${reason}`))
