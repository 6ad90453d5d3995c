/** Writes the types of options with the descriptions of their schemas as comments, which editors show. `Static<typeof …>` has none. */
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { TObject, TSchema } from '@sinclair/typebox'

/** `export type TokenOptions = Static<typeof TokenSchema>;` */
const STATIC_TYPE = /^export type (\w+) = Static<typeof (\w+)>;$/gm

interface NamedType { readonly name: string, readonly file: string }
type NamedTypes = ReadonlyMap<TSchema, NamedType>

/** The files with schemas of options. The others describe requests and answers. */
const FILES = ['options', 'grants', 'server-settings']

/** Replaces these types in the declarations of `schemas/`. */
export async function documentOptions (declarations: string, schemas: string): Promise<void> {
  const files = FILES.map((name) => ({ file: `${name}.d.ts`, text: readFileSync(join(declarations, `${name}.d.ts`), 'utf8') }))
  const named = new Map<TSchema, NamedType>()
  const replacements = await Promise.all(files.map(async ({ file, text }) => {
    const source = basename(file, '.d.ts') + '.ts'
    const module = await import(pathToFileURL(join(schemas, source)).href) as Record<string, TSchema>
    const types = Array.from(text.matchAll(STATIC_TYPE), ([line, name = '', schema = '']) => ({ line, name, schema: module[schema] as TSchema }))
    for (const { name, schema } of types) named.set(schema, { name, file: source })
    return { file, source, text, types }
  }))
  for (const { file, source, text, types } of replacements) {
    const documented = types.reduce((all, { line, name, schema }) => all.replace(line, () => declare(name, schema, { named, file: source })), text)
    if (documented !== text) writeFileSync(join(declarations, file), documented)
  }
}

interface Place {
  readonly named: NamedTypes
  /** The file that is written. */
  readonly file: string
}

function declare (name: string, schema: TSchema, { named, file }: Place): string {
  const others = new Map([...named].filter(([, type]) => type.name !== name))
  const type = typeOf(schema, { named: others, file }, '')
  return `${commentOf(schema, '')}export ${type.startsWith('{\n') ? `interface ${name} ${type}` : `type ${name} = ${type};`}`
}

/** @throws Error for a schema that this function does not know, so that no option loses its type */
function typeOf (schema: TSchema, place: Place, indent: string): string {
  const known = place.named.get(schema)
  if (known !== undefined) return known.file === place.file ? known.name : `import("./${known.file}").${known.name}`
  if (schema['const'] !== undefined) return JSON.stringify(schema['const'])
  if (schema['anyOf'] !== undefined) return schema['anyOf'].map((each: TSchema) => typeOf(each, place, indent)).join(' | ')
  if (schema['properties'] !== undefined) return membersOf(schema as TObject, place, indent)
  const [values] = Object.values<TSchema>(schema['patternProperties'] ?? {})
  if (values !== undefined) return `{ [name: string]: ${typeOf(values, place, indent)} }`
  if (schema['type'] === 'array') return `Array<${typeOf(schema['items'], place, indent)}>`
  const simple = simpleTypes.get(schema['type'])
  if (simple === undefined) throw new Error(`no type for ${JSON.stringify(schema)}`)
  return simple
}

/** By the `type` of the schema; `Type.Unknown()` has none. */
const simpleTypes = new Map([['string', 'string'], ['integer', 'number'], ['number', 'number'], ['boolean', 'boolean'], ['null', 'null'], [undefined, 'unknown']])

function membersOf ({ properties, required = [] }: TObject, place: Place, indent: string): string {
  const inner = `${indent}  `
  const members = Object.entries(properties).map(([name, schema]) =>
    `${commentOf(schema, inner)}${inner}${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema, place, inner)};\n`)
  return `{\n${members.join('')}${indent}}`
}

/** The description, with the default where it is a single value. */
function commentOf ({ description, default: fallback }: TSchema, indent: string): string {
  if (description === undefined) return ''
  const lines = [description, ...typeof fallback === 'object' || fallback === undefined ? [] : ['', `@defaultValue ${JSON.stringify(fallback)}`]]
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line.replaceAll('*/', '*\\/')}`.trimEnd()).join('\n')}\n${indent} */\n`
}
