import { createRequire } from 'node:module'
import { Gauge, type Registry } from 'prom-client'

/** By the package's own name: its files are elsewhere once they are compiled. */
const { version } = createRequire(import.meta.url)('fastify-row-query/package.json') as { version: string }

export function addBuildInfo (registry: Registry): void {
  new Gauge({
    name: 'row_query_build_info',
    help: 'Always 1; the labels say which versions run',
    labelNames: ['version', 'node'],
    registers: [registry]
  }).set({ version, node: process.version }, 1)
}
