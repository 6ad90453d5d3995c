import { type TSchema, Type } from '@sinclair/typebox'
import { numberText } from '../json/exact-json.ts'
import { type ColumnType, createType, expected, ValueRefused, ValueUnreadable } from './column-type.ts'
import { MAX_FLOAT, shortestFloat } from './float.ts'
import { GEOMETRY_TYPES, readGeometry, readGeometryInParts, writeGeometry } from './wkb.ts'

const EPSG = /^EPSG:(\d{1,9})$/

const line = [[0, 0], [1, 1]]
const ring = [[0, 0], [1, 0], [1, 1], [0, 0]]

/** An example of each GeoJSON type, for OpenAPI documents. */
const examples: ReadonlyMap<string, object> = new Map(Object.entries({
  Point: { coordinates: [0, 0] },
  LineString: { coordinates: line },
  Polygon: { coordinates: [ring] },
  MultiPoint: { coordinates: line },
  MultiLineString: { coordinates: [line] },
  MultiPolygon: { coordinates: [[ring]] },
  GeometryCollection: { geometries: [] }
}).map(([type, rest]) => [type, { type, ...rest }]))

const WGS84 = 4326

/** The schema of `crs`, which names an SRID: that of the column, if it is restricted to one. */
function crsSchema (srid: number | null) {
  const name = Type.String(srid === null ? { pattern: '^EPSG:\\d{1,9}$' } : { enum: [`EPSG:${srid}`] })
  return Type.Object(
    { type: Type.String({ enum: ['name'] }), properties: Type.Object({ name }, { additionalProperties: false }) },
    { additionalProperties: false }
  )
}

/** The schemas of coordinates by GeoJSON type. */
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

/** The schema of one GeoJSON type. Collections in collections are accepted, but not described. */
function shapeSchema (type: string, srid: number | null): TSchema {
  const coordinates = coordinateSchemas(srid)
  const shape = (name: string, members: object): TSchema =>
    Type.Object({ type: Type.String({ enum: [name] }), ...members }, { additionalProperties: false })
  const simple = Array.from(coordinates, ([name, schema]) => shape(name, { coordinates: schema }))
  const [members] = [coordinates.get(type)].map((schema) =>
    schema === undefined ? { geometries: Type.Array(Type.Union(simple)) } : { coordinates: schema }
  )
  return shape(type, { ...members, crs: Type.Optional(crsSchema(srid)) })
}

/**
 * Geometry as GeoJSON. An SRID other than the column's (0 if the column has none) is in the member `crs`, in the form
 * of MySQL's ST_AsGeoJSON. Longitude comes first, as in GeoJSON and in MySQL's internal format.
 */
export function geometryType ({ only, srid: own }: {
  /** The only GeoJSON type that the column accepts, or null for all. */
  only: string | null
  /** The SRID that the column is restricted to, or null. */
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
      const { srid, members } = readGeometry(value as Buffer)
      return `{${members}${crsOf(srid, usual)}}`
    },
    long: function * (value) {
      return { isText: false, parts: writeParts(value as Buffer, usual) }
    },
    comparison: 'equality',
    structured: true
  })
}

/** `usual`: the SRID that is not mentioned. */
function * writeParts (bytes: Buffer, usual: number): Generator<string> {
  const { srid, members } = readGeometryInParts(bytes)
  yield '{'
  yield * members
  yield `${crsOf(srid, usual)}}`
}

const crsOf = (srid: number, usual: number): string =>
  srid === usual ? '' : `,"crs":{"type":"name","properties":{"name":"EPSG:${srid}"}}`

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
