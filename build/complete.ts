/** Completes what the compiler has written into `dist`: files that it does not copy, the bundle of the docs page, the entries for CommonJS, the descriptions of options, and the schema of the configuration file. */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundlePage } from './bundle-page.ts'
import { writeCommonJs } from './commonjs.ts'
import { createConfigSchema } from './config-schema.ts'
import { documentOptions } from './option-types.ts'

const COPIED = ['src/demo/seed.sql']

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
for (const file of COPIED) copyFileSync(join(root, file), join(dist, file))
writeFileSync(join(dist, 'config.schema.json'), JSON.stringify(createConfigSchema(), undefined, 2) + '\n')
const { script, style } = await bundlePage()
mkdirSync(join(dist, 'page'), { recursive: true })
writeFileSync(join(dist, 'page/main.js'), script)
writeFileSync(join(dist, 'page/main.css'), style)
await documentOptions(join(dist, 'schemas'), join(root, 'schemas'))
await writeCommonJs(['src/index.js', 'src/client/index.js'].map((file) => join(dist, file)))
