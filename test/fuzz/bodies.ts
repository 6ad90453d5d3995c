/** Generates valid bodies with every verb, operator and type from the catalog of a table. */
import fc, { type Arbitrary } from 'fast-check'
import { OPERATORS, type FilterOperator, type OperandForm } from '../../schemas/filters.ts'
import type { Column } from '../../src/catalog/catalog.ts'
import type { JsonTexts } from '../support/values.ts'
import { groupsOf } from './groups.ts'
import { list, pairs, text, type Json, type Pairs } from './json.ts'
import { pagesOf } from './pages.ts'
import { inData, type FuzzTable } from './tables.ts'

const patterns: JsonTexts = fc.oneof(
  fc.constantFrom('%', '_', 'a%', '%a', '%\\%%', '\\_', '\\', '\\\\', '%%', '', 'A', 'a\0', '\0', '\0%'),
  fc.string({ unit: fc.constantFrom('a', 'b', ' ', '%', '_', '\\', "'", '\0', 'é', '😀'), maxLength: 5 })
).map(text)

/** The present time, and times that few or no columns can hold. */
const MOMENTS = fc.constantFrom(
  '{"$now":true}', '{"$now":{"years":6000,"days":-1}}', '{"$now":{"years":-9000}}',
  '{"$now":{"months":100000,"seconds":-100000}}'
)

const DEFAULT = '{"$default":true}'
const PATHS = fc.constantFrom('$', '$.a', '$.a[0]', '$[0]', '$."key"', '$[1].b', '$.a[last]', '$[last-1].b')
const USUAL = ['', ' ASC', ' desc', ' DESC', ' ASC NULLS FIRST', ' desc nulls last']
/** Columns whose values the model compares with those of each other (tables.ts). */
const ALIKE = [['id', 'n', 'level', 'price'], ['word', 'code']]

const lists = (values: Arbitrary<Json>, minLength = 0): Arbitrary<Json> =>
  fc.array(values, { minLength, maxLength: 5 }).map((items) => list(...items))
const operator = (name: string, operand: Arbitrary<Json>): Arbitrary<Json> =>
  operand.map((value) => pairs([name, value]))

/** Filters on one column, with every operator of its type. */
function conditions (
  { type: { comparison, structured, moment, readMember, unbounded } }: Column, values: JsonTexts, isTimeless = false
): Arbitrary<Json> {
  const anyLength = unbounded === undefined || unbounded['contentEncoding'] !== undefined
    ? values
    : fc.oneof(
      { weight: 12, arbitrary: values },
      { weight: 1, arbitrary: fc.constantFrom('a'.repeat(31), 'ab'.repeat(200)).map(text) }
    )
  const withNull = fc.option(anyLength, { freq: 8, nil: 'null' })
  const compared: Arbitrary<Json> = moment?.isComparable === true &&
    !isTimeless
    ? fc.oneof({ weight: 2, arbitrary: values }, { weight: 1, arbitrary: MOMENTS })
    : values
  const operands: Readonly<Record<OperandForm, Arbitrary<Json>>> = {
    compared,
    comparedOrNull: withNull,
    valueOrNull: withNull,
    values: lists(withNull),
    pair: fc.tuple(compared, compared).map((two) => list(...two)),
    pattern: patterns,
    boolean: fc.constantFrom('true', 'false'),
    members: values.filter((json) => json !== '[]'),
    paths: fc.dictionary(
      PATHS, fc.constantFrom('1', 'null', '"a"', 'true', '{"$gt":0}', '{"$in":[1,"a",null]}', '{"$exists":false}'),
      { minKeys: 1, maxKeys: 2 }
    ).map((paths) => pairs(...Object.entries(paths)))
  }
  const needing = (needs: FilterOperator['needs']): Arbitrary<Json> => fc.oneof(...Object.entries<FilterOperator>(
    OPERATORS
  ).filter(([, other]) => other.needs === needs).map(([name, { operand }]) => operator(name, operands[operand])))
  const nothing = fc.oneof(fc.constant<Json>('null'), needing('none'))
  if (comparison === 'none') return nothing
  const equality = fc.oneof(
    { weight: 1, arbitrary: structured ? operator('$eq', values) : values },
    { weight: 2, arbitrary: needing('equality') }, { weight: 1, arbitrary: structured ? nothing : lists(withNull, 1) },
    { weight: 1, arbitrary: nothing }
  )
  if (readMember !== undefined) {
    return fc.oneof({ weight: 3, arbitrary: equality }, {
      weight: 1, arbitrary: needing('members')
    })
  }
  if (comparison === 'equality') return equality
  const order = fc.oneof({ weight: 2, arbitrary: needing('order') }, {
    weight: 1, arbitrary: fc.tuple(values, values).map(([low, high]) => pairs(['$gte', low], ['$lt', high]))
  })
  if (comparison === 'order') return fc.oneof({ weight: 2, arbitrary: equality }, { weight: 1, arbitrary: order })
  return fc.oneof({ weight: 2, arbitrary: equality }, { weight: 1, arbitrary: order }, {
    weight: 2, arbitrary: needing('text')
  })
}

/** Filters by one or several columns, nested; half of the columns are known to the model. */
export function filtersOf ({ catalog, values, kinds }: FuzzTable): Arbitrary<Json> {
  const conditionOn = (columns: readonly Column[]): Arbitrary<readonly [string, Json]> => fc.oneof(...columns.map((
    column
  ) => conditions(column, values.get(column.name) as JsonTexts).map((condition) => [column.name, condition] as const)))
  const usable = catalog.columnList.filter(({ name }) => values.has(name))
  const known = conditionOn(usable.filter(({ name }) => kinds.has(name)))
  const two = fc.constantFrom(...ALIKE).chain((names) => fc.tuple(
    fc.shuffledSubarray(names, { minLength: 2, maxLength: 2 }),
    fc.constantFrom('$eq', '$ne', '$gt', '$gte', '$lt', '$lte')
  ))
    .map(([[name, other], operator]) => [name as string, pairs([operator, pairs(['$column', text(other)])])] as const)
  const inAnyCase = fc.constantFrom('word', 'code').chain((name) => {
    const each = fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom('a', 'A', 'AB', 'Row 1', 'ROW 3', 'a ', 'i', 'K', '').map(text) },
      { weight: 1, arbitrary: values.get(name) as JsonTexts }
    )
    const operands = fc.oneof(
      fc.tuple(fc.constantFrom('$eq', '$ne', '$startsWith', '$contains'), each),
      fc.tuple(fc.constantFrom('$in', '$nin'), lists(fc.option(each, { freq: 8, nil: 'null' }), 1)),
      fc.tuple(fc.constantFrom('$like', '$nlike'), patterns)
    )
    return operands.map((operand) => [name, pairs(operand, ['$case', text('ignore')])] as const)
  })
  const others = fc.oneof({ weight: 2, arbitrary: two }, { weight: 1, arbitrary: inAnyCase })
  const any = fc.oneof({ weight: 4, arbitrary: known }, { weight: 1, arbitrary: others }, {
    weight: 2, arbitrary: conditionOn(usable)
  })
  const flat = (condition: Arbitrary<readonly [string, Json]>, minLength: number): Arbitrary<Json> =>
    fc.uniqueArray(condition, { minLength, maxLength: 3, selector: ([name]) => name }).map(
      (entries) => pairs(...entries)
    )
  const row = fc.uniqueArray(fc.constantFrom(...usable).chain(({ name }) => fc.option(values.get(name) as JsonTexts, {
    freq: 8, nil: 'null'
  }).map((value) => [name, value] as const)), { maxLength: 3, selector: ([name]) => name })
    .map((entries) => pairs(['$is', pairs(...entries)]))
  const { nested } = fc.letrec<{ nested: Json }>((tie) => ({
    nested: fc.oneof({ maxDepth: 3, depthSize: 'small' },
      { weight: 4, arbitrary: flat(fc.oneof({ weight: 3, arbitrary: known }, { weight: 1, arbitrary: others }), 1) },
      { weight: 2, arbitrary: flat(any, 0) },
      {
        weight: 1,
        arbitrary: fc.tuple(fc.constantFrom('$and', '$or'), fc.array(tie('nested'), { maxLength: 3 })).map(
          ([name, items]) => pairs([name, list(...items)])
        )
      },
      { weight: 1, arbitrary: tie('nested').map((inner) => pairs(['$not', inner])) },
      { weight: 1, arbitrary: row })
  }))
  return nested
}

/** One body of any verb. */
export function bodiesOf (table: FuzzTable): Arbitrary<Json> {
  const { catalog, values } = table
  const names = catalog.columnList.map(({ name }) => name)
  const written = names.filter((name) => values.has(name))
  const filters = filtersOf(table)
  const orderable = catalog.columnList.filter(({ type }) => type.comparison !== 'none' && !type.structured).map(
    ({ name }) => name
  )
  const termsWith = (directions: readonly string[]): Arbitrary<string[]> => fc.uniqueArray(
    fc.tuple(fc.constantFrom('id', 'n', 'price', 'day', 'level', ...orderable), fc.constantFrom(...directions)),
    { minLength: 1, maxLength: 3, selector: ([name]) => name }
  )
    .map((chosen) => chosen.map((term) => term.join('')))
  const terms = termsWith(USUAL)
  const documents = catalog.columnList.filter(({ type }) => type.inside !== undefined).map(({ name }) => name)
  const named = termsWith([...USUAL, ' ASC NULLS LAST', ' DESC nulls first']).map((chosen) => text(chosen.join(', ')))
  const byPath = (): Arbitrary<Json> => fc.tuple(
    fc.constantFrom(...documents), PATHS, fc.constantFrom('ASC', 'desc', 'asc nulls last', 'DESC NULLS FIRST')
  )
    .map(([name, path, direction]) => list(pairs([name, pairs([path, text(direction)])]), pairs(['id', text('DESC')])))
  const order = documents.length === 0
    ? named
    : fc.oneof({ weight: 3, arbitrary: named }, {
      weight: 1, arbitrary: byPath()
    })
  const data = (minLength: number): Arbitrary<Json> => fc.uniqueArray(
    fc.constantFrom(...written, ...written.slice(1)), { minLength, maxLength: 6 }
  ).chain((chosen) =>
    fc.tuple(...chosen.map((name) => fc.option(values.get(name) as JsonTexts, {
      freq: name === 'id' || name === 'level' ? 50 : 8, nil: 'null'
    })))
      .map((texts) => pairs(...chosen.map((name, index) => [name, inData(texts[index] as string)] as const))))
  const changed = fc.tuple(
    data(1), fc.option(fc.constantFrom(...written.filter((name) => name !== 'id')), { freq: 3, nil: undefined })
  )
    .map(([given, name]) => name === undefined
      ? given
      : pairs(...(given as Pairs).pairs.filter(([other]) => other !== name), [name, DEFAULT]))
  const fields = (
    verb: string, parts: ReadonlyArray<readonly [name: string, json: Arbitrary<Json>, freq?: number]>
  ): Arbitrary<Json> =>
    fc.tuple(...parts.map(([, json, freq]) => freq === undefined ? json : fc.option(json, { freq, nil: undefined })))
      .map((chosen) => pairs(['verb', text(verb)], ...parts.flatMap(
        ([name], index) => chosen[index] === undefined ? [] : [[name, chosen[index]] as const]
      )))
  const bound = fc.integer({ min: 0, max: 22 }).map(String)
  const expect = fc.oneof(bound, fc.uniqueArray(fc.tuple(fc.constantFrom('$eq', '$gt', '$gte', '$lt', '$lte'), bound), {
    minLength: 1, maxLength: 2, selector: ([name]) => name
  }).map((bounds) => pairs(...bounds)))
  const returning = fc.oneof(
    fc.constant(text('*')), fc.shuffledSubarray(names, { minLength: 1 }).map((chosen) => list(...chosen.map(text)))
  )
  const dryRun = fc.constantFrom('true', 'false')
  const rows = fc.array(data(0), { minLength: 1, maxLength: 4 }).map((items) => list(...items))
  const set = fc.oneof(fc.shuffledSubarray(written.filter((name) => name !== 'id'), { maxLength: 4 }).map(
    (chosen) => list(...chosen.map(text))
  ), changed)
  const onConflict = fc.tuple(fc.constantFrom('id', 'code'), fc.option(set)).map(
    ([key, chosen]) => pairs(['key', list(text(key))], ...chosen === null ? [] : [['set', chosen] as const])
  )
  const columns = fc.shuffledSubarray(names, { minLength: 1 }).map((chosen) => list(...chosen.map(text)))
  const page = fc.option(terms, { freq: 4, nil: [] }).chain((chosen) => fc.tuple(fields('select', [
    ['filters', filters, 1], ['columns', columns, 2], ['limit', fc.integer({ min: 1, max: 12 }).map(String), 4],
    ['expect', expect, 9]
  ]), pagesOf(table, chosen))
    .map(([body, paged]) => pairs(
      ...(body as Pairs).pairs, ...chosen.length === 0 ? [] : [['orderBy', text(chosen.join(', '))] as const], ...paged
    )))
  // the row whose id is `n` of a row
  const include: Arbitrary<Json> = fc.constant(
    pairs(['m', text({ table: catalog.name, on: { n: 'id' }, columns: ['id', 'level'] })])
  )
  const byMember = fc.constantFrom(
    'm.level DESC, id', 'm.level ASC, id DESC', 'm.level ASC NULLS LAST, id', 'm.level desc nulls first, id desc'
  ).map(text)
  return fc.oneof(
    {
      weight: 1,
      arbitrary: fields('select', [['filters', filters, 2], ['include', include], ['orderBy', byMember], [
        'limit', fc.integer({ min: 1, max: 30 }).map(String), 2
      ]])
    },
    {
      weight: 1,
      arbitrary: fields('delete', [
        ['filters', filters], ['returning', returning], ['include', include], ['expect', expect, 5],
        ['dryRun', dryRun, 5]
      ])
    },
    {
      weight: 2,
      arbitrary: fields('select', [
        ['expect', expect, 9], ['filters', filters, 8], ['columns', columns, 2],
        ['limit', fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 1000 })).map(String), 2],
        ['orderBy', order, 2]
      ])
    },
    { weight: 2, arbitrary: page },
    {
      weight: 2,
      arbitrary: fc.tuple(
        fields('select', [['filters', filters, 3], ['limit', fc.integer({ min: 1, max: 30 }).map(String), 2]]),
        groupsOf(table, conditions, filters)
      ).map(([body, groups]) => pairs(...(body as Pairs).pairs, ...groups))
    },
    { weight: 2, arbitrary: fields('insert', [['data', data(0)], ['returning', returning, 4], ['dryRun', dryRun, 9]]) },
    { weight: 1, arbitrary: fields('insert', [['data', rows], ['returning', returning, 4], ['dryRun', dryRun, 9]]) },
    {
      weight: 2,
      arbitrary: fields('insert', [
        ['data', fc.oneof(rows, data(1))], ['onConflict', onConflict], ['outcomes', fc.constant('true'), 3],
        ['returning', returning, 4], ['dryRun', dryRun, 9]
      ])
    },
    {
      weight: 2,
      arbitrary: fields('update', [
        ['data', changed], ['filters', filters], ['returning', returning, 4], ['expect', expect, 5],
        ['dryRun', dryRun, 9]
      ])
    },
    {
      weight: 1,
      arbitrary: fields('delete', [
        ['filters', filters], ['returning', returning, 4], ['expect', expect, 5], ['dryRun', dryRun, 5]
      ])
    }
  )
}
