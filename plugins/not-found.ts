/** Answers every path of the prefix that has no route. */
import createError from '@fastify/error'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { notFound } from '../src/errors.ts'
import { sendError } from './errors.ts'

const PrefixTaken = createError('ROW_QUERY_PREFIX_TAKEN', 'The prefix "%s" is taken: %s')
const OTHER_HANDLER = 'the app has a not-found handler for it'

/** @throws ROW_QUERY_PREFIX_TAKEN where another registration has the prefix */
export function checkPrefix (app: FastifyInstance): void {
  if (app.hasRoute({ method: 'POST', url: `${app.prefix.replace(/\/$/, '')}/:database/:table` })) {
    throw new PrefixTaken(app.prefix, 'POST /:database/:table is there already; each registration of the plugin needs a prefix of its own')
  }
}

/** @throws ROW_QUERY_PREFIX_TAKEN where the app has a handler for the prefix */
export default fp(async function notFoundAnswers (app: FastifyInstance) {
  // Without a prefix of our own, the host app's answer to unknown paths is the host app's business.
  if (app.prefix === '') return
  // Fastify sets the handler in a callback of `after`, where an error is an uncaught exception. Here it is set at once.
  const now = { value: (set: (error: null, done: () => void) => void) => set(null, () => {}) }
  const answer = (request: FastifyRequest, reply: FastifyReply): FastifyReply => sendError(notFound() as FastifyError, request, reply)
  try {
    Object.create(app, { after: now }).setNotFoundHandler(answer)
  } catch {
    throw new PrefixTaken(app.prefix, OTHER_HANDLER)
  }
  refuseLaterHandlers(app)
}, { name: 'row-query-not-found' })

/** A handler that the app sets for the same prefix later would be an uncaught exception as well. */
function refuseLaterHandlers (app: FastifyInstance): void {
  const { prefix } = app
  let host = app
  while (host.prefix === prefix) host = Object.getPrototypeOf(host) // the instance that the prefix was given to
  host.addHook('onRegister', (instance) => {
    if (instance.prefix === prefix) Object.defineProperty(instance, 'setNotFoundHandler', { value: () => { throw new PrefixTaken(prefix, OTHER_HANDLER) } })
  })
}
