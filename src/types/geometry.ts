import { type TSchema, Type } from '@sinclair/typebox'
import { PART } from '../in-pieces.ts'
import { numberText } from '../json/exact-json.ts'
import { type ColumnType, createType, expected, ValueRefused, ValueUnreadable } from './column-type.ts'
import { MAX_FLOAT, shortestFloat, jsonNumber } from './float.ts'

const EPSG = /^EPSG:(\d{1,9})$/

const LINE = [[0, 0], [1, 1]]
const ring = [[0, 0], [1, 0], [1, 1], [0, 0]]

/** An example of each GeoJSON type, for OpenAPI documents. */
const examples: ReadonlyMap<string, object> = new Map(Object.entries({
  Point: { coordinates: [0, 0] },
  LineString: { coordinates: LINE },
  Polygon: { coordinates: [ring] },
  MultiPoint: { coordinates: LINE },
  MultiLineString: { coordinates: [LINE] },
  MultiPolygon: { coordinates: [[ring]] },
  GeometryCollection: { geometries: [] }
}).map(([type, rest]) => [type, { type, ...rest }]))

const WGS84 = 4326

/** `crs` names an SRID: the one of the column, if it is restricted to one. */
function crsSchema (srid: number | null) {
  const name = Type.String(srid === null ? { pattern: '^EPSG:\\d{1,9}$' } : { enum: [`EPSG:${srid}`] })
  return Type.Object(
    { type: Type.String({ enum: ['name'] }), properties: Type.Object({ name }, { additionalProperties: false }) },
    { additionalProperties: false }
  )
}

function coordinateSchemas (srid: number | null): ReadonlyMap<string, TSchema> {
  const number = (limit: number) => srid === WGS84 ? Type.Number({ minimum: -limit, maximum: limit }) : Type.Number()
  const position =
    srid === WGS84
      ? Type.Unsafe({
        type: 'array',
        prefixItems: [number(180), number(90)],
        items: { type: 'number' },
        minItems: 2,
        maxItems: 2
      })
      : Type.Array(Type.Number(), { minItems: 2, maxItems: 2 })
  const list = (items: TSchema, minItems = 1): TSchema => Type.Array(items, { minItems })
  const line = list(position, 2)
  const polygon = list(list(position, 4))
  return new Map([
    ['Point', position],
    ['LineString', line],
    ['Polygon', polygon],
    ['MultiPoint', list(position)],
    ['MultiLineString', list(line)],
    ['MultiPolygon', list(polygon)]
  ])
}

/** Collections in collections are accepted, but not described. */
function shapeSchema (type: string, srid: number | null): TSchema {
  const coordinates = coordinateSchemas(srid)
  const shape = (name: string, members: object): TSchema =>
    Type.Object({ type: Type.String({ enum: [name] }), ...members }, { additionalProperties: false })
  const simple = Array.from(coordinates, ([name, schema]) => shape(name, { coordinates: schema }))
  const own = coordinates.get(type)
  const members = own === undefined ? { geometries: Type.Array(Type.Union(simple)) } : { coordinates: own }
  return shape(type, { ...members, crs: Type.Optional(crsSchema(srid)) })
}

/**
 * Geometry as GeoJSON. An SRID other than the column's (0 if the column has none) is in the member `crs`, in the form
 * of MySQL's ST_AsGeoJSON. Longitude comes first, as in GeoJSON and in MySQL's internal format.
 */
export function geometryType ({ only, srid: own }: {
  /** GeoJSON type; null for all. */
  only: string | null
  /** The column is restricted to it; null if it is not. */
  srid: number | null
}): ColumnType {
  const usual = own ?? 0
  const types = only === null ? GEOMETRY_TYPES : [only]
  return createType({
    schema: {
      ...only === null ? Type.Union(types.map((type) => shapeSchema(type, own))) : shapeSchema(only, own),
      title: `${only ?? 'Geometry'}${own ?? ''}`,
      description: 'GeoJSON geometry (RFC 7946).',
      examples: [examples.get(types[0] as string)]
    },
    read: (value) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) throw expected('a GeoJSON object')
      const { crs, ...geometry } = value as { crs?: unknown, type?: unknown }
      if (!types.includes(geometry.type as string)) throw expected(`a GeoJSON geometry of type ${types.join(', ')}`)
      const srid = crs === undefined ? usual : readSrid(crs)
      if (own !== null && srid !== own) throw new ValueRefused(`must have the SRID ${own}`)
      return writeGeometry(geometry, srid)
    },
    // ALTER TABLE fills a new NOT NULL column with empty values, which no statement can write
    write: (value) => {
      if ((value as Buffer).length === 0) return 'null'
      return Array.from(writeParts(value as Buffer, usual)).join('')
    },
    long: function * (value) {
      return { isText: false, parts: writeParts(value as Buffer, usual) }
    },
    comparison: 'equality',
    structured: true
  })
}

/** `usual`: not mentioned. */
function * writeParts (bytes: Buffer, usual: number): Generator<string> {
  const { srid, members } = readGeometry(bytes)
  yield '{'
  yield * members
  yield srid === usual ? '}' : `,"crs":{"type":"name","properties":{"name":"EPSG:${srid}"}}}`
}

/** Reads `{"type":"name","properties":{"name":"EPSG:4326"}}`, the form that MySQL writes. */
function readSrid (crs: unknown): number {
  const name = (crs as { properties?: { name?: unknown } } | null)?.properties?.name
  const [, digits] = EPSG.exec(typeof name === 'string' ? name : '') ?? []
  if (digits === undefined) throw expected('a "crs" such as {"type":"name","properties":{"name":"EPSG:4326"}}')
  return Number(digits)
}

const FLOAT_BYTES = 4

/** VECTOR: a list of 32-bit floats. MySQL has no `=` for vectors, so their bytes are compared. */
export function vectorType (bytes: number): ColumnType {
  const dimensions = bytes / FLOAT_BYTES
  return createType({
    schema: Type.Array(Type.Number({ format: 'float', minimum: -MAX_FLOAT, maximum: MAX_FLOAT }), {
      title: `Vector${dimensions}`,
      minItems: 1,
      maxItems: dimensions,
      examples: [[1, 0.5, 0].slice(0, dimensions)]
    }),
    read: (value) => {
      if (!Array.isArray(value) || value.length === 0) throw expected('a list of numbers')
      if (value.length > dimensions) throw new ValueRefused(`can have at most ${dimensions} numbers`)
      const packed = Buffer.alloc(value.length * FLOAT_BYTES)
      value.forEach((entry, index) => packed.writeFloatLE(readEntry(entry), index * FLOAT_BYTES))
      return packed
    },
    write: (value) => {
      const packed = value as Buffer
      // ALTER TABLE fills a new NOT NULL column with empty values, which no statement can write
      if (packed.length === 0) return 'null'
      if (packed.length % FLOAT_BYTES !== 0) throw new ValueUnreadable('contains bytes that are not a vector')
      const entries = Array.from({ length: packed.length / FLOAT_BYTES }, (_, index) =>
        writeEntry(packed.readFloatLE(index * FLOAT_BYTES))
      )
      return `[${entries.join(',')}]`
    },
    comparison: 'equality',
    structured: true,
    comparedColumn: ['cast(', ' as binary)']
  })
}

function writeEntry (entry: number): string {
  if (!Number.isFinite(entry)) throw new ValueUnreadable('contains a vector with an entry that is not a number')
  return shortestFloat(entry)
}

function readEntry (entry: unknown): number {
  const number = Math.fround(Number(numberText(entry) ?? NaN))
  if (!Number.isFinite(number)) throw expected('a list of numbers that fit a FLOAT')
  return number
}

// Converts between MySQL's internal geometry format (four bytes of SRID, then WKB: OGC 06-103r4, section 8) and GeoJSON
// (RFC 7946). ST_AsGeoJSON is not used, because it loses the SRID and its result cannot be converted back to the same
// bytes.

/** `text`: the JSON before `at` that is not passed on yet. The bytes may be invalid, so each step checks the bounds. */
interface Cursor { readonly bytes: Buffer, at: number, text: string }

/** Reading that stops where the text is as long as a part. */
type Reading = Generator<undefined, void>

/** Of one part of a geometry: bytes to JSON text, and parsed JSON to bytes. */
interface Codec {
  /** What is left to be done, if it may be much. */
  readonly read: (cursor: Cursor) => Reading | undefined
  readonly write: (value: unknown) => Buffer[]
}

const LITTLE_ENDIAN = 1
/** Nesting of geometry collections, when writing and when reading. */
const MAX_DEPTH = 32
const MAX_READ_DEPTH = 200
/** Minimum size of a counted item, in bytes. */
const MIN_ITEM_BYTES = 4

const position: Codec = {
  read: (cursor) => {
    cursor.text += `[${double(cursor)},${double(cursor)}]`
    return undefined
  },
  write: (value) => {
    if (!Array.isArray(value) || value.length !== 2) {
      throw new ValueRefused('contains a position that is not an array of two numbers')
    }
    const bytes = Buffer.alloc(16)
    value.forEach((ordinate, index) => bytes.writeDoubleLE(finite(ordinate), index * 8))
    return [bytes]
  }
}

const list = (item: Codec): Codec => ({
  read: (cursor) => readItems(cursor, item.read),
  write: (value) => {
    if (!Array.isArray(value)) throw new ValueRefused('contains coordinates that are not nested deeply enough')
    return [uint32Bytes(value.length), ...value.flatMap(item.write)]
  }
})

/** A member of a Multi geometry, which has its own header. */
const member = (code: number, item: Codec): Codec => ({
  read: (cursor) => {
    if (readHeader(cursor) !== code) throw unreadable()
    return item.read(cursor)
  },
  write: (value) => [header(code), ...item.write(value)]
})

function * readItems (cursor: Cursor, read: Codec['read']): Reading {
  const length = count(cursor)
  cursor.text += '['
  for (let index = 0; index < length; index++) {
    if (index > 0) cursor.text += ','
    const rest = read(cursor)
    if (rest !== undefined) yield * rest
    if (cursor.text.length >= PART) yield
  }
  cursor.text += ']'
}

const line = list(position)
const polygon = list(line)
const shapes: readonly { readonly type: string, readonly code: number, readonly coordinates: Codec }[] = [
  { type: 'Point', code: 1, coordinates: position },
  { type: 'LineString', code: 2, coordinates: line },
  { type: 'Polygon', code: 3, coordinates: polygon },
  { type: 'MultiPoint', code: 4, coordinates: list(member(1, position)) },
  { type: 'MultiLineString', code: 5, coordinates: list(member(2, line)) },
  { type: 'MultiPolygon', code: 6, coordinates: list(member(3, polygon)) }
]
const COLLECTION = { type: 'GeometryCollection', code: 7 }

const byCode = new Map(shapes.map((shape) => [shape.code, shape]))
const byType = new Map(shapes.map((shape) => [shape.type, shape]))

export const GEOMETRY_TYPES: readonly string[] = [...byType.keys(), COLLECTION.type]

/** `members`: JSON text without braces in parts, each of which may throw. @throws ValueUnreadable */
export function readGeometry (bytes: Buffer): { srid: number, members: Iterable<string> } {
  const cursor = { bytes, at: 0, text: '' }
  return { srid: uint32(cursor), members: partsOf(cursor) }
}

function * partsOf (cursor: Cursor): Generator<string> {
  const reading = readMembers(cursor, 0)
  while (reading?.next().done === false) {
    yield cursor.text
    cursor.text = ''
  }
  if (cursor.at !== cursor.bytes.length) throw unreadable()
  yield cursor.text
}

/** What is left to be done, if it may be much. */
function readMembers (cursor: Cursor, depth: number): Reading | undefined {
  const code = readHeader(cursor)
  const shape = byCode.get(code)
  if (shape !== undefined) {
    cursor.text += `"type":"${shape.type}","coordinates":`
    return shape.coordinates.read(cursor)
  }
  if (code !== COLLECTION.code || depth > MAX_READ_DEPTH) throw unreadable()
  cursor.text += `"type":"${COLLECTION.type}","geometries":`
  return readItems(cursor, (cursor) => readGeometryOfCollection(cursor, depth + 1))
}

function * readGeometryOfCollection (cursor: Cursor, depth: number): Reading {
  cursor.text += '{'
  const rest = readMembers(cursor, depth)
  if (rest !== undefined) yield * rest
  cursor.text += '}'
}

/** @throws ValueRefused */
function writeGeometry (geometry: object, srid: number): Buffer {
  return Buffer.concat([uint32Bytes(srid), ...writeMembers(geometry, 0)])
}

function writeMembers (geometry: unknown, depth: number): Buffer[] {
  if (typeof geometry !== 'object' || geometry === null || depth > MAX_DEPTH) {
    throw new ValueRefused(
      `contains a geometry that is not a GeoJSON object or is nested deeper than ${MAX_DEPTH} levels`
    )
  }
  const { type, coordinates, geometries, ...rest } = geometry as {
    type?: unknown
    coordinates?: unknown
    geometries?: unknown
  }
  const shape = byType.get(type as string)
  const [unknown] = [
    ...Object.keys(rest),
    ...((shape === undefined ? coordinates : geometries) === undefined ? [] : ['coordinates with geometries'])
  ]
  if (unknown !== undefined) throw new ValueRefused(`contains the member "${unknown}", which cannot be stored`)
  if (shape !== undefined) return [header(shape.code), ...shape.coordinates.write(coordinates)]
  if (type !== COLLECTION.type || !Array.isArray(geometries)) {
    throw new ValueRefused(`expected a GeoJSON geometry: ${GEOMETRY_TYPES.join(', ')}`)
  }
  return [
    header(COLLECTION.code),
    uint32Bytes(geometries.length),
    ...geometries.flatMap((each) => writeMembers(each, depth + 1))
  ]
}

function header (code: number): Buffer {
  return Buffer.concat([Buffer.from([LITTLE_ENDIAN]), uint32Bytes(code)])
}

function uint32Bytes (number: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(number)
  return bytes
}

const unreadable = (): ValueUnreadable => new ValueUnreadable('contains bytes that are not a geometry')

/** Returns the position of the first byte. */
function take (cursor: Cursor, length: number): number {
  const { at } = cursor
  if (cursor.bytes.length - at < length) throw unreadable()
  cursor.at += length
  return at
}

/** The type code. MySQL is always little-endian. */
function readHeader (cursor: Cursor): number {
  if (cursor.bytes[take(cursor, 1)] !== LITTLE_ENDIAN) throw unreadable()
  return uint32(cursor)
}

function uint32 (cursor: Cursor): number {
  return cursor.bytes.readUInt32LE(take(cursor, 4))
}

/** Checked against the remaining bytes. */
function count (cursor: Cursor): number {
  const items = uint32(cursor)
  if (items > (cursor.bytes.length - cursor.at) / MIN_ITEM_BYTES) throw unreadable()
  return items
}

function double (cursor: Cursor): string {
  const number = cursor.bytes.readDoubleLE(take(cursor, 8))
  if (!Number.isFinite(number)) throw new ValueUnreadable('contains a geometry with a coordinate that is not a number')
  return jsonNumber(number)
}

function finite (ordinate: unknown): number {
  const number = Number(numberText(ordinate) ?? NaN)
  if (!Number.isFinite(number)) throw new ValueRefused('contains a coordinate that is not a number')
  return number
}
