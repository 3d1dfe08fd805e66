// Judge an exported Biscuit with @biscuit-auth/biscuit-wasm 0.6.0, narrow it as a third party does, judge the results.
//
//   npm install @biscuit-auth/biscuit-wasm@0.6.0
//   node --experimental-wasm-modules judge.mjs vectors.json < export.json
//
// `export.json` is {biscuit, root_public_key (base64url), requests, times (RFC 3339), how_made}. Tests read vectors.json alone;
// they install and run nothing of this.
import { readFileSync, writeFileSync } from 'node:fs'
import * as wasm from '@biscuit-auth/biscuit-wasm'

const LIMITS = { max_time_micro: 1_000_000 } // the default of a millisecond is no answer on a busy machine
const given = JSON.parse(readFileSync(0, 'utf8'))
const root = wasm.PublicKey.fromBytes(Buffer.from(given.root_public_key, 'base64url'), wasm.SignatureAlgorithm.Ed25519)
const exported = wasm.Biscuit.fromBase64(given.biscuit, root)

function block(code) {
  const builder = wasm.Biscuit.block_builder()
  builder.addCode(code)
  return builder
}

// `request` has one or several scopes, separated by spaces; all must be allowed.
function judge(token, request, at) {
  const builder = new wasm.AuthorizerBuilder()
  builder.addCode(`time(${at}); allow if true;`)
  for (const each of request.split(' ').filter(Boolean)) {
    const [resource, operation] = each.split(':')
    builder.addCode(`resource("${resource}"); operation("${operation}");`)
  }
  try {
    builder.buildAuthenticated(token).authorizeWithLimits(LIMITS)
    return true
  } catch (error) {
    if (!JSON.stringify(error).includes('FailedLogic')) throw error
    return false
  }
}

const third = new wasm.KeyPair(wasm.SignatureAlgorithm.Ed25519)
const signed = exported.getThirdPartyRequest().createBlock(third.getPrivateKey(), block('check if operation("read");'))
const tokens = {
  exported,
  narrowed: exported.appendBlock(block('check if operation("read");')),
  narrowed_by_third_party: exported.appendThirdPartyBlock(third.getPublicKey(), signed),
  with_claims: exported.appendBlock(block('operation("read"); resource("docs"); delegation("0"); agent("other");')),
  ended_earlier: exported.appendBlock(block(`check if time($t), $t < ${given.times[0]};`)),
}
const vectors = Object.entries(tokens).map(([name, token]) => ({
  name,
  biscuit: token.toBase64(),
  revocation_ids: token.getRevocationIdentifiers(),
  allowed: Object.fromEntries(given.times.map((at) => [at, given.requests.filter((each) => judge(token, each, at))])),
}))

function refuses(read) {
  try {
    read()
    return false
  } catch {
    return true
  }
}

const other = new wasm.KeyPair(wasm.SignatureAlgorithm.Ed25519).getPublicKey()
const refused = {
  another_root_key: refuses(() => wasm.Biscuit.fromBase64(given.biscuit, other)),
  a_changed_byte: refuses(() => {
    const bytes = exported.toBytes()
    bytes[40] ^= 1
    wasm.Biscuit.fromBytes(bytes, root)
  }),
}
const { how_made, root_public_key, requests, times } = given
const source = exported.getBlockSource(0)
writeFileSync(process.argv[2], JSON.stringify({ how_made, root_public_key, requests, times, source, refused, vectors }, null, 1) + '\n')
