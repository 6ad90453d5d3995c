/** The least that an authenticated and validated request costs: Fastify, a token, a body, and no database. */
import { createApp, listen } from './app.ts'
import { keyBody } from './schemas.ts'

const app = await createApp()
app.post('/orders/by-key', { schema: { body: keyBody } }, async () => ({ success: true, data: {} }))
await listen(app)
