/** Completes what the compiler has written into `dist`: files that it does not copy, the descriptions of options, and the schema of the configuration file. */
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createConfigSchema } from './config-schema.ts'
import { documentOptions } from './option-types.ts'

const SCRIPTS = ['columns.js', 'page.js', 'reference.js', 'schemas.js'].map((name) => `plugins/docs-page/${name}`)
const COPIED = [...SCRIPTS, 'src/demo/seed.sql']

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
for (const file of COPIED) copyFileSync(join(root, file), join(dist, file))
writeFileSync(join(dist, 'config.schema.json'), JSON.stringify(createConfigSchema(), undefined, 2) + '\n')
await documentOptions(join(dist, 'schemas'), join(root, 'schemas'))
