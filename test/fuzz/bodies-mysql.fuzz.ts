import { fuzzBodiesOn } from './bodies-on.ts'

await fuzzBodiesOn('mysql')
