import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

type AllRequired<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [Key in keyof T]-?: AllRequired<T[Key]> }
    : T

/** The type of settings once their defaults are filled in. `Optional`: the names of those that have no default. */
export type WithDefaults<T, Optional extends keyof T = never> = AllRequired<Omit<T, Optional>> & Pick<T, Optional>

/**
 * Returns a copy of valid settings in which each missing setting has the default of the schema. TypeBox fills in
 * objects and lists, but not the values of a record: the settings of each database need a call of their own.
 */
export function withDefaults<Complete extends object> (schema: TSchema, settings: object): Complete {
  return Value.Default(schema, structuredClone(settings)) as Complete
}
