/** On every answer: rows are kept by no cache and taken for nothing but JSON. A route that says something else of itself wins. */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

export default fp(async function answerHeaders (app: FastifyInstance) {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff')
    done()
  })
}, { name: 'row-query-answer-headers' })
