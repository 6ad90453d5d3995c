/** Paths below the prefix that have no route, which need a prefix that nothing else in the app uses. */
import createError from '@fastify/error'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { notFound } from '../src/errors.ts'
import { sendError } from './errors.ts'

const PrefixTaken = createError('ROW_QUERY_PREFIX_TAKEN', 'The prefix "%s" is in use: %s')
const OTHER_HANDLER = 'the app has a not-found handler for it'

/** @throws ROW_QUERY_PREFIX_TAKEN if another registration has the prefix */
export function checkPrefix (app: FastifyInstance): void {
  if (app.hasRoute({ method: 'POST', url: `${app.prefix.replace(/\/$/, '')}/:database/:table` })) {
    throw new PrefixTaken(
      app.prefix,
      'it already has a route POST /:database/:table; each registration of the plugin needs its own prefix'
    )
  }
}

/**
 * Responds with NOT_FOUND to every path below the prefix that has no route. @throws ROW_QUERY_PREFIX_TAKEN if the app
 * has a not-found handler for the prefix
 */
export default fp(async function notFoundResponses (app: FastifyInstance) {
  // without a prefix, unknown paths belong to the host app
  if (app.prefix === '') return
  // Fastify sets the handler in a callback of `after`, in which an error is an uncaught exception; replacing `after`
  // sets it at once
  const immediately = { value: (set: (error: null, done: () => void) => void) => set(null, () => {}) }
  const respond = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
    sendError(notFound() as FastifyError, request, reply)
  try {
    Object.create(app, { after: immediately }).setNotFoundHandler(respond)
  } catch {
    throw new PrefixTaken(app.prefix, OTHER_HANDLER)
  }
  refuseLaterHandlers(app)
}, { name: 'row-query-not-found' })

/** Refuses a handler that the app sets later for the same prefix, which would also cause an uncaught exception. */
function refuseLaterHandlers (app: FastifyInstance): void {
  const { prefix } = app
  let host = app
  while (host.prefix === prefix) host = Object.getPrototypeOf(host) // the instance that the prefix was given to
  host.addHook('onRegister', (instance) => {
    if (instance.prefix === prefix) {
      Object.defineProperty(instance, 'setNotFoundHandler', {
        value: () => {
          throw new PrefixTaken(prefix, OTHER_HANDLER)
        }
      })
    }
  })
}
