import t from 'tap'
import { fuzzBodiesOn } from './bodies-on.ts'

await fuzzBodiesOn(t, 'mariadb')
