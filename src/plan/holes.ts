/**
 * Values that are not known while a body is planned, such as results of earlier operations. In the body a stand-in has
 * its place; the reader of its type leaves a hole in the plan, which bind.ts fills.
 */
import type { Column } from '../catalog/catalog.ts'
import type { Path } from '../errors.ts'
import { isMoment, type Moment, type Parameter, ValueRefused } from '../types/column-type.ts'

/** The values of a body that come from elsewhere. */
export interface StandIns {
  /**
   * The stand-in of a value from elsewhere, and any other value unchanged. Called with the whole value of a column in
   * `data`, an operand in `filters` or a value of its list, and the text of `$match`.
   */
  replace (given: unknown, column: Column, path: Path): unknown
  /** What stands in place of objects of the body. */
  readonly values?: ReadonlyMap<object, unknown> | undefined
}

/** An object of a body that is never a value, unlike a reference, which a JSON column may have stored. */
export abstract class Placeholder {}

export class Holes {
  readonly list: Hole[] = []
  /** More than the holes depends on the values: the body must be planned with them. */
  needValues = false
  /** Parts of the plan without holes, as far as it has been bound. */
  readonly without = new WeakSet<object>()
}

export class Hole {
  readonly #holes: Holes
  /** Its position among the holes of the plan. */
  readonly index: number
  readonly key: unknown
  /** Whether the value is a list, each of whose values takes a place in the list of the hole. */
  readonly isList: boolean
  /** @throws ValueRefused */
  readonly read: (value: unknown) => Parameter | Moment
  /** What the converted value must satisfy. */
  readonly tests: Array<(parameter: Parameter | Moment) => boolean> = []

  constructor (holes: Holes, key: unknown, read: Hole['read'], isList: boolean) {
    this.#holes = holes
    this.key = key
    this.read = read
    this.isList = isList
    this.index = holes.list.push(this) - 1
  }

  /** A hole for what `compute` makes of the same value. */
  also (compute: Hole['read']): Hole {
    return new Hole(this.#holes, this.key, (value) => compute(this.read(value)), this.isList)
  }

  /** To be called where the structure of the plan depends on the value. */
  needValue (): void {
    this.#holes.needValues = true
  }
}

/** The number, or the one of a hole, plus one. */
export function oneMore (number: number): number {
  const given: unknown = number
  return given instanceof Hole ? given.also((value) => (value as number) + 1) as never : number + 1
}

/** Stands for a value in a body, which is never an operator, a form or a reference, whatever it looks like. */
export class StandIn {
  readonly #holes: Holes | undefined
  readonly #key: unknown
  readonly #isList: boolean
  /** Undefined while it is not known. */
  readonly value: unknown
  /** The client has sent it with the request: it is judged as a value of the body. */
  readonly isSent: boolean

  private constructor (
    { holes, key, isList = false }: { readonly holes?: Holes, readonly key?: unknown, readonly isList?: boolean },
    value?: unknown,
    isSent = false
  ) {
    this.#holes = holes
    this.#key = key
    this.#isList = isList
    this.value = value
    this.isSent = isSent
  }

  static known (value: unknown): StandIn {
    return new StandIn({}, value)
  }

  static sent (value: unknown): StandIn {
    return new StandIn({}, value, true)
  }

  /** `isList`: alone in a list, for all its values. */
  static unknown (holes: Holes, key: unknown, isList = false): StandIn {
    return new StandIn({ holes, key, isList })
  }

  /** Reads the value, or leaves a hole for it. @throws ValueRefused for null, and the errors of `read` */
  read<T extends Hole['read']> (read: T): ReturnType<T> | Hole {
    if (this.#holes !== undefined) return new Hole(this.#holes, this.#key, read, this.#isList)
    if (this.value === null) throw new ValueRefused('the reference leads to null')
    return read(this.value) as ReturnType<T>
  }
}

/** `instead`: of a hole on whose value the structure of the plan depends. */
export function valueOr<T> (value: T | Hole, instead: T): T {
  if (!(value instanceof Hole)) return value
  value.needValue()
  return instead
}

/** A moment until the clock is bound, and a hole in a plan that is not run before `bind` fills it. */
export type Given = Parameter | Moment | Hole

/** Null if the request gives none. */
export function givenValue (
  { columns, parameters }: { readonly columns: readonly Column[], readonly parameters: readonly Given[] },
  column: Column
): Given {
  return parameters[columns.indexOf(column)] ?? null
}

/** A value of a plan whose moments have values (src/execute/runner.ts). @throws if it is none, or missing */
export function boundValue (parameter: Given | undefined): Parameter {
  if (parameter === undefined || parameter instanceof Hole || isMoment(parameter)) {
    throw new Error('a value of the plan has not been bound')
  }
  return parameter
}
