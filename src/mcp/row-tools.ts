/** The tools that read and change rows. Their arguments are the body of a request without `verb`, and the names of its path. */
import { BODIES, type Body } from '../../schemas/body.ts'
import { VERBS, type Verb } from '../../schemas/grant.ts'
import type { ServiceError } from '../errors.ts'
import { executeAs, findBodyError } from '../in-process/execute.ts'
import { clampNumbers } from '../request/check-body.ts'
import { dataOf } from '../response/respond.ts'
import { refuse, requireText } from './arguments.ts'
import { descriptions, titles } from './descriptions.ts'
import { toolSchema } from './tool-schema.ts'
import type { Arguments, Call, Tool } from './tool.ts'
import { databasesOf, holdsAnywhere, type ToolOptions } from './usable.ts'

/** The default limit of a select. */
const LIMIT = 50

const CONSISTENCY = 'The header "Row-Query-Consistency"'

export function createRowTools (options: ToolOptions): Array<[Verb, Tool]> {
  return VERBS.filter((verb) => options.verbs.includes(verb)).map((verb) => [verb, {
    title: titles[verb],
    description: descriptions[verb],
    isReadOnly: verb === 'select',
    ...verb !== 'select' && { isDestructive: verb !== 'insert' },
    isUsable: (grant) => holdsAnywhere(grant, options.databases, verb),
    inputSchema: (grant) => toolSchema(BODIES[verb], { databases: databasesOf(grant, options), limit: LIMIT }),
    run: (args, call) => verb === 'select' ? select(options, args, call) : run(options, verb, args, call)
  }])
}

/** Selects a page, whose `next` shows whether there are more rows, if the table and the order allow it. */
async function select (options: ToolOptions, args: Arguments, call: Call): Promise<string> {
  const limited = { limit: LIMIT, ...args }
  if (!canBePage(args)) return await run(options, 'select', limited, call)
  try {
    return await run(options, 'select', { ...limited, after: null }, call)
  } catch (error) {
    if (!isAboutPage(error as ServiceError)) throw error
    return await run(options, 'select', limited, call)
  }
}

/** Fields of a select that make it a page already, or that a page cannot have. A new field of a select may belong here (CONTRIBUTING.md, "A field of a body"). */
const OTHERS = ['after', 'offset', 'groupBy', 'aggregates']
const canBePage = (args: Arguments): boolean => !OTHERS.some((field) => Object.hasOwn(args, field))

/** Whether the planner may have refused a select because of the added `after`. The database has not been asked. */
const isAboutPage = ({ code, details = [] }: ServiceError): boolean =>
  ['NOT_SUPPORTED', 'INVALID_ORDER_BY', 'INVALID_BODY'].includes(code) && details.some(({ path }) => path === '/after' || path === '/orderBy')

/** Runs a request, and returns `data` of its answer. @throws ServiceError */
async function run (options: ToolOptions, verb: Verb, { database, table, ...fields }: Arguments, { grant, consistency, ...call }: Call): Promise<string> {
  const { answer } = await executeAs(grant, options, {
    ...call,
    database: requireText('database', database, 'list_tables shows the databases'),
    table: requireText('table', table, 'list_tables shows the tables'),
    readBody: () => readBody(verb, fields),
    resultLimit: options.resultLimit,
    consistency: { asked: consistency, place: CONSISTENCY }
  })
  return String(dataOf(answer))
}

/** @throws INVALID_BODY, FILTERS_REQUIRED, LIMIT_OUT_OF_RANGE, INVALID_ORDER_BY, INVALID_VALUE */
function readBody (verb: Verb, fields: Arguments): Body {
  if (Object.hasOwn(fields, 'verb')) throw refuse('verb', '"verb" is not an argument: the name of the tool says it')
  const body = clampNumbers({ ...fields, verb })
  const error = findBodyError(body)
  if (error !== undefined) throw error
  return body as Body
}
