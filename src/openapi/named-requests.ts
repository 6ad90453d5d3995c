/** One path for each that the caller may call, with the schemas of its columns. */
import { MAX_LIMIT } from '../../schemas/limits.ts'
import { RESPONSES } from '../../schemas/responses.ts'
import type { Grant } from '../access/grant.ts'
import type { Column } from '../catalog/catalog.ts'
import { inPieces, type LongWork, PART } from '../in-pieces.ts'
import { methodsOf, type NamedRequests } from '../named/call.ts'
import { type Declared, type NamedRequest, REQUESTS_PATH } from '../named/definition.ts'
import { membersOf } from '../plan/filters/scope.ts'
import type { Member, Plan, SelectPlan } from '../plan/plan.ts'
import { isNow } from '../types/moment.ts'
import { type DocumentText, Members, writeDocument } from './database-document.ts'
import {
  createHead, REFUSAL, refusalSchema, responseReferences, securitySchemes, sharedResponses, SUCCEEDED
} from './operation.ts'
import {
  anyOf, bare, closedObject, membersOf as unionOf, orNull, plainText, refTo, type Schema, shownSchema
} from './value-schema.ts'
import type { DocumentSettings } from './visible.ts'

interface DescribedParameter {
  readonly declared: Declared
  readonly schema: Schema
  readonly isRequired: boolean
  /** Whether a query string has it as JSON text. */
  readonly isJson: boolean
}

interface DescribedRequest {
  readonly request: NamedRequest
  readonly parameters: readonly DescribedParameter[]
  /** The schema of `data` of its response. */
  readonly data: Schema
}

/**
 * Describes a request with the types of the catalog; undefined if it does not fit it. `caller`: with whose rights a
 * request without a role runs.
 */
export function describeRequest (
  request: NamedRequest,
  caller: Grant,
  named: NamedRequests
): DescribedRequest | undefined {
  const plans = named.plansOf(request, caller)
  if (plans === undefined) return undefined
  const parameters = [...request.parameters.values()].map((declared) =>
    describeParameter(declared, columnOf(request, declared, plans), plans, named.limits)
  )
  const responses = plans.map((plan, index) => describeData(plan, mayBeWhole(request, index)))
  const data = request.table === undefined
    ? closedObject([['results', { type: 'array', prefixItems: responses, minItems: plans.length }]])
    : responses[0] as Schema
  return { request, parameters, data }
}

/** Whether a call may leave out what makes a page of a response, so that it has no `next`. `index`: of the body. */
const mayBeWhole = ({ table, parameters }: NamedRequest, index: number): boolean =>
  [...parameters.values()].some(({ isOptional, places }) => isOptional && places.some(({ field, path }) =>
    (field === 'offset' || field === 'after') && (table === undefined ? path.length === 3 && path[1] === index : true)
  ))

/** The column of the first place of a parameter. */
function columnOf (
  { table: own }: NamedRequest,
  { places: [place] }: Declared,
  plans: readonly Plan[]
): Column | undefined {
  const { column, table, path } = place
  if (column === undefined) return undefined
  const plan = plans[own === undefined ? path[1] as number : 0] as Plan
  const seen = [plan.table, ...membersOf(plan).map((member) => member.table)].find(({ name }) => name === table)
  return seen?.columns.get(column) ?? seen?.granted?.writable.insert.get(column)
}

function describeParameter (
  declared: Declared,
  column: Column | undefined,
  plans: readonly Plan[],
  limits: Pick<DocumentSettings['limits'], 'offset'>
): DescribedParameter {
  const { description, isList, isOptional, default: otherwise, maximum, places: [place] } = declared
  const schemaOf = (): Schema => {
    switch (place.field) {
      case 'limit': return { type: 'integer', minimum: 1, maximum: maximum ?? MAX_LIMIT }
      case 'offset': return { type: 'integer', minimum: 0, maximum: maximum ?? limits.offset }
      case 'after': return { anyOf: [positionOf(plans, place.path), { type: 'null' }] }
    }
    if (column === undefined) return place.operator === '$match' ? { type: 'string', minLength: 1 } : {}
    const schema = place.operator === '$has' ? { type: 'string' } : anyOf(unionOf(column.type.schema).map(bare))
    return place.mayBeNull === true && column.nullable ? orNull(schema) : schema
  }
  const schema = isList ? { type: 'array', items: schemaOf() } : schemaOf()
  return {
    declared,
    schema: {
      ...schema,
      ...(description !== undefined && { description: plainText(description) }),
      ...(otherwise !== undefined && { [isNow(otherwise.value) ? 'x-default' : 'default']: otherwise.value })
    },
    isRequired: !isOptional && otherwise === undefined,
    isJson: place.field === 'after' || (column?.type.structured === true && place.operator !== '$has')
  }
}

/** The position behind which a select begins. `path`: of `after`. */
function positionOf (plans: readonly Plan[], path: ReadonlyArray<string | number>): Schema {
  const plan = plans[typeof path[1] === 'number' ? path[1] : 0]
  return plan?.verb === 'select' ? positionIn(plan) : {}
}

const objectOf = (properties: ReadonlyArray<readonly [string, Schema]>): Schema =>
  closedObject(properties, { required: properties.map(([name]) => name) })

const positionIn = ({ order }: SelectPlan): Schema =>
  objectOf(order.map(({ column }) => [column.name, shownSchema(column)]))

function describeData (plan: Plan, mayBeWhole: boolean): Schema {
  const { data } = RESPONSES[plan.verb].properties as unknown as { readonly data: { readonly properties: object } }
  const properties = data.properties as Readonly<Record<string, Schema>>
  const rows = plan.verb === 'select' ? plan : plan.returning
  const fields = Object.entries(properties).flatMap(([name, schema]): Array<readonly [string, Schema]> => {
    switch (name) {
      case 'rows':
        return rows === undefined ? [] : [[name, { type: 'array', items: rowOf(rows.columns, membersOf(plan)) }]]
      case 'next': return plan.verb === 'select' && plan.page !== undefined ? [[name, nextOf(plan)]] : []
      case 'total': return plan.verb === 'select' && plan.total !== undefined ? [[name, plain(schema)]] : []
      case 'id': return [[name, idOf(plan)]]
      case 'updated':
      case 'unchanged':
        return plan.verb === 'update' || (plan.verb === 'insert' && plan.conflict !== undefined)
          ? [[name, plain(schema)]]
          : []
      case 'outcomes': return plan.verb === 'insert' && plan.outcomes === true ? [[name, plain(schema)]] : []
      case 'dryRun': return []
      default: return [[name, plain(schema)]]
    }
  })
  const names = fields.map(([name]) => name)
  return closedObject(fields, { required: mayBeWhole ? names.filter((name) => name !== 'next') : names })
}

/** Without what only TypeBox knows. */
const plain = (schema: Schema): Schema => JSON.parse(JSON.stringify(schema)) as Schema

const nextOf = (plan: SelectPlan): Schema => plan.page?.by === 'position'
  ? { anyOf: [positionIn(plan), { type: 'null' }] }
  : { type: ['integer', 'null'] }

const idOf = ({ table: { identity } }: Plan): Schema =>
  identity === undefined ? { type: ['integer', 'null'] } : orNull(shownSchema(identity))

const rowOf = (columns: readonly Column[], members: readonly Member[]): Schema => objectOf([
  ...columns.map((column) => [column.name, shownSchema(column)] as const),
  ...members.map((member) => [member.name, memberOf(member)] as const)
])

function memberOf (member: Member): Schema {
  if (member.kind === 'computed') return rowOf(member.columns, [])
  const row = rowOf(member.columns, member.members)
  const isObject = member.kind === 'one' || member.isObject === true
  return isObject ? { anyOf: [row, { type: 'null' }] } : { type: 'array', items: row }
}

/** The object of parameters, for bodies and the arguments of tools. */
export const parametersSchema = ({ parameters }: DescribedRequest): Schema => {
  const required = parameters.filter(({ isRequired }) => isRequired).map(({ declared: { name } }) => name)
  return closedObject(parameters.map(({ declared: { name }, schema }) => [name, schema]), {
    ...(required.length > 0 && { required })
  })
}

function pathOf (described: DescribedRequest): [string, Schema] {
  const { request: { name, description }, parameters, data } = described
  const common = {
    summary: `Calls ${name}`,
    ...(description !== undefined && { description: plainText(description) }),
    tags: [REQUESTS_PATH]
  }
  const done = {
    description: SUCCEEDED,
    content: {
      'application/json': {
        schema: objectOf([['success', { type: 'boolean', enum: [true] }], ['data', data]])
      }
    }
  }
  const responses = { 200: done, ...responseReferences }
  return [`/${REQUESTS_PATH}/${name}`, {
    post: {
      operationId: `request_${name}`,
      ...common,
      requestBody: { required: true, content: { 'application/json': { schema: parametersSchema(described) } } },
      responses
    },
    ...(methodsOf(described.request).includes('GET') && {
      get: { operationId: `get_request_${name}`, ...common, parameters: parameters.map(inQuery), responses }
    })
  }]
}

function inQuery (parameter: DescribedParameter): Schema {
  const { declared: { name, isList }, schema: { description, ...schema }, isRequired, isJson } = parameter
  return {
    name,
    in: 'query',
    required: isRequired,
    ...(description !== undefined && { description }),
    ...(isJson && !isList
      ? { content: { 'application/json': { schema } } }
      : { style: 'form', explode: true, schema: isJson ? { type: 'array', items: { type: 'string' } } : schema })
  }
}

/** What the grant may call, as far as the catalogs can type it. Other requests run between its parts. */
export const createNamedDocument = (
  named: NamedRequests,
  grant: Grant,
  settings: Pick<DocumentSettings, 'prefix' | 'info'>
): Promise<DocumentText> => inPieces(describeNamed(named, grant, settings))

/** The description of a request stands for as much work, beside its text. */
function * describeNamed (
  named: NamedRequests,
  grant: Grant,
  settings: Pick<DocumentSettings, 'prefix' | 'info'>
): LongWork<DocumentText> {
  const document = new Members()
  document.add({
    ...createHead(REQUESTS_PATH, settings),
    tags: [{ name: REQUESTS_PATH, description: 'Requests with names and parameters.' }]
  })
  const paths = new Members()
  for (const request of named.callable(grant)) {
    const described = describeRequest(request, grant, named)
    yield PART + (described === undefined ? 0 : paths.add(Object.fromEntries([pathOf(described)])))
  }
  document.addObject('paths', paths)
  document.add({
    components: { securitySchemes, responses: sharedResponses(refTo(REFUSAL)), schemas: { [REFUSAL]: refusalSchema } }
  })
  return yield * writeDocument(document)
}
