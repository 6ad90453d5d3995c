/** The minimal cost of an authenticated and validated request: Fastify, a token and a body, without a database. */
import { createApp, listen } from './app.ts'
import { keyBody } from './schemas.ts'

const app = await createApp()
app.post('/orders/by-key', { schema: { body: keyBody } }, async () => ({ success: true, data: {} }))
await listen(app)
