/** Reads the schemas of an OpenAPI document. */

/** Returns functions that read schemas and follow their references. `components`: those of the document. */
export function createReader ({ schemas }) {
  const follow = (schema) => schema?.$ref === undefined ? schema : follow(schemas[schema.$ref.split('/').pop()])
  /** The members of a union, or the schema itself. */
  const variants = (schema) => [follow(schema)].flatMap((found) => found?.oneOf ?? found?.anyOf ?? [found]).map(follow)
  /** Properties of an object, or of the objects in a union. A Map, because a column may be called `constructor`. */
  const members = (schema) => new Map(variants(schema).flatMap((variant) => Object.entries(variant?.properties ?? {})))
  /** The kinds of requests of an operation: the fields of each, by name. */
  const requestsOf = ({ requestBody }) => variants(jsonOf(requestBody).schema).map(members)
  return { follow, variants, members, requestsOf }
}

export const jsonOf = ({ content }) => content['application/json']
