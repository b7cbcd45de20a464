"""Fingerprints of the splits that results were computed on, written by tests/support/catalogue_facts.py."""

FINGERPRINTS: dict[str, dict[str, str]] = {
    "cornell-movie-review-data/rotten_tomatoes": {
        "train": "bd3b252bb812c7cd53a2b7a8f66618b964941a0b6f23a6d2ffb6180ceaf845fd",
        "validation": "5431ba3420569f02f04b1db0170eb2ef3eab12369cbb873185a80b0d83bdc245",
        "test": "d9e158584c37b54a1f1e4e5c21066a8d71f25232956a7261b20596dac2b28c14",
    },
    "SetFit/CR": {
        "train": "a5bb8bca2ca23e465239a9b98cb11e52d929f91d61f90e5fc9b7cc6d014f8df9",
    },
    "SetFit/subj": {
        "train": "ef5f8f244cb47438a8451359d7c0e6955ef1cbf635d0e7a0ac838b2c62cd01ed",
    },
    "ctxzoo-data/mpqa": {
        "train": "ea590bef42c2b9fd8cdfff7a92eb7ee7cf9905affa772742b4813d4fab64c6c7",
    },
    "SetFit/sst2": {
        "train": "659862d85931340fdc6c9807b59fae07cee4356c4585ed520974ae6c58bf78d6",
        "validation": "14622bf43e9c1407a566b7933b9cdec7fd37fca70ec6c38c24beed0faf7cbdb5",
        "test": "2efffe67b14652c0b40504a03ac9458e1d8f95220331cedfcb77599bd0519b7d",
    },
    "ctxzoo-data/reuters8": {
        "train": "d04b94656cde0d433dbe7a67d9a86f9010642af590541e51c42a2143313e3fcc",
        "test": "ce247c45ad56237d11c758d7a7b503253f2ef5edc58b12a5e3eac9e0f28fb9a6",
    },
    "stanfordnlp/imdb": {
        "train": "6be9f60e38bda0808669319b0ab1a6a355c6e90bbf8efba66442235cf026b05d",
        "test": "8c29548003bf3c1ec8cc6fd5c67dfd710b988ce04e63cd3d29d86cdee7e0094a",
    },
    "Yelp/yelp_review_full": {
        "train": "375025cf38bbb1297898eb48cf9d6b24ba467a98cb0da550028c45b867d48b65",
        "validation": "97c902bbe4b468d51e6be033ed2403df6e0dc6ef9d54a6d1918a9d3377e6bb3f",
        "test": "9769bcec6ac5d791f92dbfd0ebc1e6be9964a6dcdd6de2282b2dee01bd37891f",
    },
    "ctxzoo-data/news_aggregator": {
        "train": "b13845baa926126f12dd5d62667c5f2b71fe52aa338153fc88a961751ad4f67a",
        "validation": "474613bbc2742d6ce54d80270fcff0c05916b9d3d4913011f33ad312f1fbdb54",
        "test": "dfe8c35d51431c38c8a182e0ea97165d527c97fbf1e199c4c56931138c15be33",
    },
    "rajpurkar/squad": {
        "validation": "a3270865b4867f3a39bb01cb1e438ec9a535d944b6427e66b008dc9e39d94171",
    },
    "rajpurkar/squad_v2": {
        "validation": "71b6522691c06d26a13215f07a6f5955a6c53ee8672920567cf1a22a31e0eb7d",
    },
    "ctxzoo-data/squad_v1_mini": {
        "train": "1354359a8b7bc94e375a37c6c4cf34dc34c36dc8f32e15878bf5bb6fd0974cb6",
        "validation": "4b4e2580f6845cba8c1ba12c3bc4c159640141f5dcf1545960db29b1ebd2dd56",
        "test": "1ee02a803aa0386b98ba96d9669e78a4536a4bac76d0d179f2c489bf88132d39",
    },
    "ctxzoo-data/squad_v2_mini": {
        "train": "4c164bc94bb84a6c44532313e2354eb8fe41da289ef1a9da139698ba82db965b",
        "validation": "f309c53e81b3f4628603164c3ce2a5deaf5eeddeb24a85bd17bcd3e0fc1a698f",
        "test": "381af99a0b6993f8e3e6227e0be26d15fdf1a40bf6afae5f38ce3bcf8ebb1760",
    },
    "ctxzoo-data/squad_v1_train_sample": {
        "train": "dfc64a39ad240adb32a88ec62bc0cbcdc115e99aa1fbb69860040c21331dba6b",
    },
    "ctxzoo-data/squad_v2_cs224n": {
        "validation": "dda30f67e52a3897648ff36ade1cc5210268149e0dce597e98569c9db9ecfc15",
        "test": "f3336840149e0e6d7a1ba4edabb954b86f811412de88535b00febaee973e4dd7",
        "test_unlabelled": "fd8304f844e090763ff935dfa55c8b4093889f69fb1ad990a20afa1458b4424b",
    },
    "ctxzoo-data/squadshifts": {
        "new_wiki/test": "8a492e551d6f1919d28a57b9cad255188304b344330e9e7d51736f39e589b63e",
        "reddit/test": "2cc74efb988731ec5a9459e8f0519133a3b6f523c0081e282c2f5434d6b1af1c",
    },
    "ctxzoo-data/ptb_sample": {
        "train": "433379011511dc7966af07eba30d6940c78c3c7a9fa3904e1a0e7b7160183d2b",
        "validation": "28c22d673bf1d5b31780939fe4aef656499e517fbb4a299714a7751a250bb0fc",
        "test": "6d549f766228837292565b4b6193c292b556f0cb565459c7fb325dd852dde4c4",
    },
    "ctxzoo-data/ptb_text": {
        "train": "6c2db70efdc11bf1fd16517bcb07c008524851abe98880f947e465505b4388b6",
        "validation": "1bb55925e3c2605ac5dbdc708911d422841e51e40b01d6b5ee0f7d58d15551c8",
        "test": "e362bbab9e05f03d9ce9e235f744c9e5737d98d1c946cf13c9e2edf7d59da772",
    },
    "ctxzoo-data/ud_english_ewt": {
        "train": "0907cf7c4a0251be4f40a456c3d349638db1021d7b80aa86467beeae09b100c9",
        "validation": "1b7905ee479189e8e2763a82bf904060bf2cd3093151b85877808c1ec477703b",
        "test": "5dee9336c2a736a107ff5cd2d28211c6d9fa79189bcfc6c8ab02c23ca602df51",
    },
    "ctxzoo-data/brown_pos": {
        "train": "7ca2eeafc8421275caf3a37c55d3379a87c1e5cb702f7f1b6d0a1fc9e574e42f",
    },
    "ctxzoo-data/conll2000_pos": {
        "train": "34ce862c348dda4a4835ceafb285a21017a3ba67a764a908780f1e65305a8b8f",
        "test": "95d0c1237cee1aaa9965ffe125fa28d9810fe854168db561938e25a62c82d702",
    },
    "ctxzoo-data/word_similarity": {
        "test": "cb176dc3a382eb08f474cb479842a78eaf4f222838291163f866633994177377",
    },
    "ctxzoo-data/word_analogy": {
        "test": "2da51849d5bd730cb17259ea6367df855ea12f4a9ad20f9d2b34d4d60215fb29",
    },
    "ctxzoo-data/wikipedia_en_2015": {
        "train": "e8c7c2be2d43c69eaab33bb43ed97b441c786dc5d14cd0734414882066853cd0",
        "validation": "2456393a2747b8aa45593d65ccb4bd0aabb4f3f61fbb1953edca5f6c52d8192a",
        "test": "b9b25abb2141b62d0ac988e8c85226263368b5a8664492ea503d05683059d82e",
    },
    "ctxzoo-data/polyphonic_music": {
        "jsb_chorales/train": "ef2d61d795894ca52750eb8f065b90b465ee79a081e7c98bf9006e710b1fd7e5",
        "jsb_chorales/validation": "b153b87f1fe8965fa3e75cafa3c7d946215a9c2c56212b2c2fa99ffeb01c408b",
        "jsb_chorales/test": "66166d7bf6bdf86649e7bc8e40665a5991da8c151946c24ca15cf8c9e0cad485",
        "nottingham/train": "761855923c65e941228adb6616a48be2426a54c158ca11a3dba45ab86d3b6372",
        "nottingham/validation": "2560878cbd8a000c5714a8272fac33ee5a1a8a04bbc31b3a080e545d953e2d79",
        "nottingham/test": "1d3d10a53ee8f7e3259c97153b98dc2ddc32bbcc75c1b58b4f11440b3382a315",
        "muse_data/train": "4f4e5c013bc244e83c6d239c7f922d792213e9f2e22b983885fdc6c9e0aa02b0",
        "muse_data/validation": "e1d3ea845d1d3720b32f9b6e808d131266f2e84628e3a633f5d56af756da6383",
        "muse_data/test": "dec5470064b966da0634498c13e5d0fbbffa6221926befb1f34d57294fc27b25",
        "piano_midi/train": "9435b918ba731da76fad859ed3e0c670bed7f02cfa8edf850cff96036a220e5c",
        "piano_midi/validation": "a3c2203fd136346a335f9600050465220fee4ed4ac6b732f68e8a9933977b19b",
        "piano_midi/test": "cfbf2d1309d37e822a3d8480be4ffeac36051bf885d4f84c0672278f26822b64",
    },
    "ctxzoo-data/citeulike_hcrnn": {
        "sessions/train": "216b8d1d9eb7317a40ab14d2c68ecc8fc4427b7c89abcb1b8fe21d630ad267ce",
        "sessions/validation": "e5882f7a0929c1a786680c8bc6541c1c599b04848324068b1679d48e5a2ac1b8",
        "sessions/test": "11fdf4b05593b6c0807d2c1b802aecb2d1fd385d3da6dcf91f8e4eac543add28",
        "items/train": "373ec92062602866a40f24caf2e8d789377e4b315078551f49274ba452da0777",
    },
    "ctxzoo-data/movielens_1m_hcrnn": {
        "sessions/train": "92d644d02775461c8e6ccc341ff8a50b96b1c6988ffbde22d51e0dd17db8f5cc",
        "sessions/validation": "15906e429a2ad04b1357c43c4d702cee4a561180b57493cd10d398ac13288971",
        "sessions/test": "c63e5066b2b0407d3f8ae7f872eead06671dfb2cbaaee41c886c4c6dfd15cf45",
        "items/train": "21f2f345f34da11e24188910ff22f7578ddca9ecdfdca39cb58e9a1d737dc3f8",
    },
    "ctxzoo-data/lastfm_hcrnn": {
        "sessions/train": "5227281ccf2052812bab1fd78a3881127b05f19c76f0ac4b31533234240e751d",
        "sessions/validation": "b8a81c8e5f40405c1e77b0cae8cae30a01d5d8f4bd154103bf045c83098bb7e3",
        "sessions/test": "5e91dab2e5601782fecc7bb4a93585b8f771c07ac966c385fc318359515e0b05",
        "items/train": "0d00d452247e5784f40236710b899c84a102604395a6a131cd4faf605151bd72",
    },
    "ctxzoo-data/movielens_100k": {
        "sessions/train": "a2986dc161fbbf17f1bcb2650a1bb3fb6a2bda1cc36fde7d508f477fc8d905c4",
        "sessions/validation": "1c993f14b0e15c0cdf7b52ac5230d8dd9fccfd932f70334ad8dd4cc1bbda4d1c",
        "sessions/test": "7491bf15b26f112b272f4f68a58ef7555baaeb593816a6cdc476f3e8becf770c",
        "items/train": "57ef07625a76b7ba6461ef680a305fe19e1d96ed4f1ae42cc1015d95d02287c6",
        "users/train": "2e9df32ca10478a706426e10290aab0f1be51591e293715545079b0e10f32245",
    },
    "ctxzoo-data/roll_call": {
        "votes/train": "43694cf46d4f11e12c86716667bba9f08e6db1296c800413943f38c80e628acb",
        "votes/validation": "bf2a76c7ee51eb8f3f39f1c9361be34c927c1ec882f1ecc3a28a2442c7576efc",
        "votes/test": "afdaa379b6e1e7296351ec9a19bf6f8c24bc38d9cd6f60ad396964c69c4a5e19",
        "votes_new_bills/train": "a4e8cc8129e03f67a8e07105effc64eeff551220ed921acfd8016fa6a851c365",
        "votes_new_bills/validation": "127ca5bef7ce86a8e713fdf0b1cd6d4e4f2942f8fd70a2334b482a425a97ee99",
        "votes_new_bills/test": "b221b583ec54e76c3ad36b5fe7cd016edcc856f238a9079991e7e50779b3ce36",
        "bills/train": "1894aefb2b11bd92a27b9f49546272cb2fecaa4600f733013b6634f7d58cc936",
        "legislators/train": "f8287838325c56fb3e00eab60f3641dff65d936325798281560d696d1f10e418",
    },
    "ctxzoo-data/ika_regression": {
        "airline/train": "99bd649da19ab9770836ddaa92bd5fbbb9effb661c8f16adb1054ae7ef4b3039",
        "airline/validation": "544cba94be2050f78e95474fbefaba73eea1cd7c42e225e37b81759fd3c6e9a1",
        "airline/test": "56b4902f664c9f6b558f45b77cf3cb9010ad32b0295f53424703a8b37abf41e3",
        "co2/train": "93eca7ce1dfdaf19f4272578921daa7b1fd6541583cef420baa499e834b8d469",
        "co2/validation": "df2729e84794e0acdb1458923a479fc93b2d14e627d3ac69fdc12417548ab750",
        "co2/test": "86a439515abd3c1bc7740ab8aac8f75d48029b17011297b4769a6967b6741dc0",
        "concrete/train": "bcbbb8cdc7eff08ed8d1109f017252d74dacd8f21cb18ca341986dbc49213889",
        "concrete/validation": "c6cc7b8b194166d5fbddb2084a3c198a047859e4f7cb0e14a24c9f6990394a59",
        "concrete/test": "294a037cc6cd51a55d543faeee8411b55561498e06982315a9c502eeb724dba0",
        "parkinsons/train": "1e64d99bfbeab3a7715106ce8f43f14467b95eacb530141e6569613802ee39e2",
        "parkinsons/validation": "76fcb861373db4e0374e2316d543a0e65f2e3f17dd605886a8133a85dd158f95",
        "parkinsons/test": "699373496ccd1d4aa660aaba4b422e108a14ce7fda6cb2433809daa7841212a4",
    },
    "ctxzoo-data/stackoverflow_badges": {
        "sequences/train": "b8b78bf0bb70489d9f78177f33455d19a060448844a118402feea919a9bdb41d",
        "sequences/validation": "bf3086ec645eb21c343dd7072902579db3ef69ebb39a8233f2a94cadc218e9ab",
        "sequences/test": "92b749a813bb3122e84d25e56a59f9ea5da9f0805c45979ae6c7283c56ec2451",
        "events/train": "3dfbdb79f85d32d9010a10a5d18abc09995df34831f3dd1fb7fbe6792ed4eacf",
    },
}
