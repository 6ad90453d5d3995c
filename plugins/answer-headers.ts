/**
 * Sets default headers of every response, so that caches store no rows and browsers guess no content type. Routes may
 * override them.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

export default fp(async function answerHeaders (app: FastifyInstance) {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff')
    done()
  })
}, { name: 'row-query-answer-headers' })
